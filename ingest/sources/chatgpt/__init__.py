"""ChatGPT: conversations of an export."""
