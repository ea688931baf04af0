"""DeepSeek Harness: journals of sessions, of several generations."""
