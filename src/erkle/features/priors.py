"""What features imply for coordinates before any answer: a mean and a covariance.

Coordinates are X = F·(W + B) + E. F·W are the features as they are: their longest principal axes. B is what answers
change about their weights and directions, and E is what answers say beyond features. A ridge on B and a ridge on E make
each column of X - F·W normal with covariance

    (Σ share_b F_b F_b' + D) / ridge.

F_b are the axes of block b. D is diagonal and fills up the variance of every object to about 1 / ridge, so ``share_b``
is the share of the variance that block b explains. The ridge of B is ridge / share_b, that of E about
ridge / (1 - Σ share_b).
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle._compiled.fitting import Prior, to_coordinates
from erkle.features.features import Features

Floats = NDArray[np.float64]
# The share of each block that is used, by name; () uses none.
Shares = tuple[tuple[str, float], ...]

# Least variance of an object that features do not explain, as a share.
_LEAST_OWN = 1e-3
# Smaller eigenvalues are 0, where two formulas would divide by 0.
_LEAST_VALUE = 1e-12


class FeaturePrior(NamedTuple):
    """The prior of the coordinates for given shares, up to the ridge.

    Attributes
    ----------
    axes : (n, p) array
        The columns of F.
    own : (n,) array
        The diagonal of D.
    scales : (p,) array
        The root of the share that each column belongs to.
    values, vectors : (p,), (p, p) arrays
        The eigenpairs of S F' D⁻¹ F S with S = diag(scales).
    weights : (p, rank) array
        W: it maps features to the mean of the coordinates.
    lengths : (n,) array
        The squared length of each object's features, those outside the axes included.
    """

    axes: Floats
    own: Floats
    scales: Floats
    values: Floats
    vectors: Floats
    weights: Floats
    lengths: Floats

    @classmethod
    def of(cls, features: Features, shares: Shares) -> Self:
        """The prior of as many coordinates as there are axes; `with_rank` changes their number."""
        share = np.array([dict(shares).get(name, 0.0) for name in features.names])
        own = np.maximum(_LEAST_OWN, 1.0 - (features.known - features.rest) @ share)
        scales = np.sqrt(share[features.block_of_axis])
        scaled = features.axes * scales
        values, vectors = np.linalg.eigh(scaled.T @ (scaled / own[:, None]))
        relative = share / share.sum()
        weights = _mean_weights(features.gram, np.sqrt(relative[features.block_of_axis]))
        lengths = features.axes**2 @ relative[features.block_of_axis] + features.rest @ relative
        return cls(features.axes, own, scales, np.maximum(values, 0.0), vectors, weights, lengths)

    def with_rank(self, rank: int) -> Self:
        """The same prior for ``rank`` coordinates; those beyond the number of axes have mean 0."""
        weights = self.weights[:, :rank]
        return self._replace(weights=np.pad(weights, ((0, 0), (0, rank - weights.shape[1]))))

    @property
    def mean(self) -> Floats:
        """F·W, (n, rank)."""
        return np.asarray(self.axes @ self.weights)

    def outside(self) -> Floats:
        """Squared length of the part of each object's features that the mean leaves out, (n,).

        As a diagonal of the kernel of the mean, it makes distances nearly those of the features. On THINGS, 25 axes are
        then right about .532 of the answers, without it .518, and all axes .528.
        """
        return np.asarray(np.maximum(0.0, self.lengths - (self.mean**2).sum(axis=1)))

    def compiled(self, ridge: float) -> Prior:
        """The prior with this ridge, for fits. D½ + F H F' D⁻½ is a root of the covariance with ridge 1."""
        values = np.maximum(self.values, _LEAST_VALUE)
        core = self._spread((np.sqrt(1.0 + values) - 1.0) / values)
        return Prior(self.mean, np.sqrt(self.own / ridge), self.axes, core / ridge)

    def standardised(self, X: Floats, ridge: float) -> Floats:
        """The variables Z of a fit at the coordinates X; the last column, the logarithms of the shifts, is kept."""
        values, scale = np.maximum(self.values, _LEAST_VALUE), np.sqrt(self.own / ridge)[:, None]
        core = self._spread((1.0 / np.sqrt(1.0 + values) - 1.0) / values) / ridge
        off = (X[:, :-1] - self.mean) / scale
        return np.column_stack([off + self.axes @ (core @ (self.axes.T @ (off / scale))) / scale, X[:, -1]])

    def coordinates(self, Z: Floats, ridge: float) -> Floats:
        """The coordinates at the variables Z; `standardised` undoes it."""
        return np.asarray(to_coordinates(self.compiled(ridge), Z))

    def explained(self, X: Floats) -> Floats:
        """The map from features to coordinates, (p, rank), that is most likely for the coordinates X: W + B."""
        off = self.axes.T @ ((X - self.mean) / self.own[:, None])
        return np.asarray(self.weights + self._spread(1.0 / (1.0 + self.values)) @ off)

    def in_frame_of(self, X: Floats) -> Self:
        """The prior whose mean is turned and scaled to be as near to the coordinates X as possible."""
        mean = self.mean
        left, sizes, right = np.linalg.svd(mean.T @ X, full_matrices=False)
        square = float(np.vdot(mean, mean))
        return self._replace(weights=self.weights @ (left @ right) * (float(sizes.sum()) / square if square else 0.0))

    def errors(self, X: Floats) -> Floats:
        """How far each row of X is from where the other rows place it by their features, (n, rank).

        A row that counts for much in the map lies near its own place, so the error is divided by what is left.
        """
        own_share = ((self.axes @ self._spread(1.0 / (1.0 + self.values))) * self.axes).sum(axis=1) / self.own
        return np.asarray((X - self.axes @ self.explained(X)) / (1.0 - own_share)[:, None])

    def _spread(self, values: Floats) -> Floats:
        half = self.scales[:, None] * self.vectors
        return np.ascontiguousarray((half * values) @ half.T)


def _mean_weights(gram: Floats, relative: Floats) -> Floats:
    """The weights of the features' principal axes, the longest first; together they have the kernel of the features."""
    _, vectors = np.linalg.eigh(relative[:, None] * gram * relative)
    longest = vectors[:, ::-1]
    # A fixed sign, so that the frame does not depend on LAPACK.
    signs = np.sign(longest[np.abs(longest).argmax(axis=0), np.arange(len(gram))])
    return np.asarray(relative[:, None] * longest * signs)
