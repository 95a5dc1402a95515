"""The dashboard: what a researcher watches while participants answer."""
