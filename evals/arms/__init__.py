"""Ways to answer a question, and the processes that run them."""
