"""What sources of the web share."""
