"""Commands that keep the memory healthy, copied and small."""
