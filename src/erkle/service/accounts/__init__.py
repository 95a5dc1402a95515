"""Researchers: how they sign in, and who may."""
