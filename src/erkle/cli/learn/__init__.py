"""What `erkle learn` does."""
