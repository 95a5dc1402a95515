"""Simulated studies that compare question strategies."""
