"""The accounts of researchers: passwords, sessions and one-time links."""
