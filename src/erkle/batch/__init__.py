"""Batch learners: all answers at once, to the optimum.

`RCKL` learns a kernel (convex for most losses, one optimum), `TripletEmbedding` coordinates of a chosen dimension,
and `Popularity` counts: the baseline that ignores the anchor.
"""

from erkle.batch.popularity import Popularity
from erkle.batch.rckl import RCKL
from erkle.batch.triplet_embedding import TripletEmbedding

__all__ = ["RCKL", "Popularity", "TripletEmbedding"]
