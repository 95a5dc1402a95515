"""Taking part: joining, answering, skipping, and what is asked next."""
