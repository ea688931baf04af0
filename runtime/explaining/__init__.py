"""The state of the memory, and the origin of an answer."""
