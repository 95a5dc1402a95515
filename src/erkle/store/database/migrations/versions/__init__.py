"""The steps, oldest first by name."""
