"""The code that runs when an agent's hook fires."""
