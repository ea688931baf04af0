"""The retrieval substrate: collections, index, lexical search. It knows documents and passages, nothing of sessions."""
