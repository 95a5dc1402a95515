"""The migrations, one module per version, sorted by name."""
