"""Qwen Code: journals of records; before them the files of Gemini CLI."""
