"""Export and import of studies and answers."""
