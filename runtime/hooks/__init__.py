"""What runs when an agent's hook fires."""
