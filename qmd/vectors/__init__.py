"""Vectors: chunks, storage, nearest neighbours and query tables."""
