"""Reranking: a model reads the question together with each candidate, and scores how well they match."""
