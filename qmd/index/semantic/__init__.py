"""Vectors in the index: the tables of each model, what waits for a vector, and the signs that find candidates."""
