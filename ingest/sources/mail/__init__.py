"""Mail: mailboxes and single messages, one document a conversation."""
