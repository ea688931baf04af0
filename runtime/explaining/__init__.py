"""What the memory holds, and where an answer comes from."""
