"""What a member does with a team's store: join, push, forget, grant."""
