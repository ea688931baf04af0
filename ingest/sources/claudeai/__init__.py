"""Claude.ai: conversations of an export."""
