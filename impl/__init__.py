"""The fast implementation of share groups."""
