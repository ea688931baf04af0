"""Gemini CLI: sessions as JSON documents or journals."""
