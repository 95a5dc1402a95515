"""Studies and answers that come from elsewhere, written in batches, so that others can write in between."""
