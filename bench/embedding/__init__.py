"""Vectors: the model, and the search among many of them."""
