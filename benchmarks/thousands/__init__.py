"""The exact kernel with many objects, compared with an earlier commit in one run."""
