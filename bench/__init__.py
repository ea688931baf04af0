"""The figures that the product promises, each measured beside its floor: ``python -m bench``, docs/performance.md."""
