"""Index runs, from each kind of source and next to the real qmd."""
