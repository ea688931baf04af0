"""Factory Droid: journals of sessions, and what `droid exec` prints."""
