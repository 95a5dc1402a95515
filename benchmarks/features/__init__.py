"""What features of objects save: `make features`."""
