"""Forgetting documents, and the proof that nothing is left."""
