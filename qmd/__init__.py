"""The retrieval substrate: collections, index, lexical search. It knows documents and passages, nothing of sessions."""

# The qmd whose command line, output and tools this package reproduces.
COMPATIBLE = "2.8.3"
