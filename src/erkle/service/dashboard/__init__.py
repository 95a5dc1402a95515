"""What a researcher watches while people answer."""
