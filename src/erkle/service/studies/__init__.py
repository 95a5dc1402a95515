"""Studies: their settings, their objects and media, and their life from draft to closed."""
