"""Everything that enters the memory: notes, articles, index runs and the first start."""
