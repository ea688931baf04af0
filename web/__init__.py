"""The local page: a server of HTML over what the commands answer (docs/page.md)."""
