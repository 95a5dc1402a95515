"""Taking part in a study: joining, answering, skipping, and choosing what is asked next."""
