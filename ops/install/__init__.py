"""What is installed outside the home: hooks, skills, completion."""
