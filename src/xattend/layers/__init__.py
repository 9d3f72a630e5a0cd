"""Layers that encoders and decoders share. They are not registered: a recipe sets them through the part that uses them."""
