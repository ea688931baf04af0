"""Reading raw files and databases that other programs write."""
