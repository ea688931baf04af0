"""Copilot in VS Code: chat sessions as documents or logs of changes."""
