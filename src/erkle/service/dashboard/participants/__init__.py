"""What a researcher needs to judge and pay participants: who they are, how they answered, and what is unusual."""
