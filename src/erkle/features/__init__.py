"""What is known about objects besides answers: vectors such as image embeddings, measurements or ratings.

`Features` prepares the vectors, and `FeatureWorth` says what they were worth. What they imply for coordinates is in
`priors.py`, which needs compiled functions.
"""

from erkle.features.blocks import Block
from erkle.features.features import Features
from erkle.features.worth import FeatureWorth

__all__ = ["Block", "FeatureWorth", "Features"]
