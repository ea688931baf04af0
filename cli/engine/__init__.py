"""The retrieval engine alone, and its measurements."""
