"""Readers: files become rows of text. One file a format; `open_reader` chooses by the file's suffix, or as the recipe says."""
