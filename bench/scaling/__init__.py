"""How the engines behave as a memory grows tenfold."""
