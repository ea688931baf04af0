"""The retrieval substrate: collections, index, lexical search. It knows documents and passages, nothing of sessions."""

# This package reproduces the command line, output and tools of that version of qmd.
COMPATIBLE = "2.8.3"
