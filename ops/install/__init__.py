"""Installation outside the home: hooks, skills, completion."""
