"""Batch learners fit all answers at once.

`RCKL` learns a kernel; for most losses the problem is convex. `TripletEmbedding` learns coordinates of a chosen
dimension. `Popularity` is the baseline that ignores the anchor and only counts.
"""

from erkle.batch.popularity import Popularity
from erkle.batch.rckl import RCKL
from erkle.batch.triplet_embedding import TripletEmbedding

__all__ = ["RCKL", "Popularity", "TripletEmbedding"]
