"""Reranking: a model reads the question beside each candidate and says how well they go together."""
