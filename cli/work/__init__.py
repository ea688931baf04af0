"""Commands about the work that sessions did."""
