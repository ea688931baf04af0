"""What sessions did, asked for by command, error, file and topic."""
