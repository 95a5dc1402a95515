"""Data to learn from."""

from erkle.datasets.cities import Cities, city_answers, load_cities

__all__ = ["Cities", "city_answers", "load_cities"]
