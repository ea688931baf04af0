"""The promised figures, each measured with its floor: ``python -m bench``, docs/performance.md."""
