"""Rows of files or of an embedded task become batches: readers -> fields -> corpus (the cache) -> batching."""
