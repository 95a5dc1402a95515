"""What is known about objects besides answers: vectors such as image embeddings, measurements or ratings.

`Features` prepares the vectors, `Prior` says what they imply for coordinates, and `FeatureWorth` says what they were
worth.
"""

from erkle.features.blocks import Block
from erkle.features.features import Features
from erkle.features.priors import FeaturePrior, Shares
from erkle.features.worth import FeatureWorth

__all__ = ["Block", "FeaturePrior", "FeatureWorth", "Features", "Shares"]
