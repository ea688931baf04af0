"""Questions: how long an answer takes, what it holds, and the surfaces that show it."""
