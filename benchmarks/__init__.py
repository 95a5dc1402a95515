"""Measurements behind the figures of the documentation. Each module says which command runs it."""
