"""JetBrains AI Assistant: chats of projects, and the tasks of its agents."""
