"""Aider: one markdown file of chats a repository."""
