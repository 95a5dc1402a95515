"""What is tried next, and how it is judged."""
