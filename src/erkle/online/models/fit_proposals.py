"""What `Refitting` tries next: settings next to the leader's, exploratory ones, and where a new fit starts."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.answer_models import AnswerModel
from erkle.features import Features
from erkle.features.priors import FeaturePrior, Shares
from erkle.kernels.lapack import one_thread
from erkle.online.models.fits import TUNING, FitSetting, largest_rank, predicted_distances
from erkle.online.selection.candidates import Candidates, Entry, Ids, next_values, steps

Floats = NDArray[np.float64]
Fit = Entry[FitSetting, Floats]

# Most priors that are kept.
_MOST_PRIORS = 30


class FitProposals(NamedTuple):
    """Proposes settings next to the leader's, and exploratory ones; only other answer models if the rank is fixed.

    Attributes
    ----------
    seed : int
        Seed of the random starting points of fits.
    fixed : bool
        Whether the user has set the rank.
    features : Features or None
        What is known about the objects besides answers.
    priors : dict
        The priors of these features that were computed, by their shares.
    """

    seed: int
    fixed: bool
    features: Features | None
    priors: dict[Shares, FeaturePrior]

    def first(self, n_objects: int) -> list[FitSetting]:
        """The settings to start with."""
        most = largest_rank(n_objects)
        fits: tuple[FitSetting, ...] = TUNING.start
        if self.features is not None:
            together = (
                fit._replace(shares=equal_shares(self.features, share)) for fit, share in TUNING.start_with_features
            )
            alone = (TUNING.start_alone._replace(shares=((name, TUNING.share_alone),)) for name in self.features.names)
            fits = (*together, *(alone if len(self.features.names) > 1 else ()), *TUNING.start)
        return list(dict.fromkeys(fit._replace(rank=min(fit.rank, most)) for fit in fits))

    def neighbours(self, candidates: Candidates[FitSetting, Floats], seen: int) -> Iterator[FitSetting]:
        """Settings that differ from the leader's in the answer model, the ridge, the rank, the shifts or the shares."""
        fit = candidates.leader.setting
        if self.features is not None and fit.shares:
            yield from (fit._replace(shares=shares) for shares in next_shares(self.features, fit.shares))
        yield from self._beside(candidates.leader)

    def _beside(self, entry: Fit) -> Iterator[FitSetting]:
        """Settings that differ in one step, with the same shares."""
        X, fit = entry.model, entry.setting
        axes: dict[str, tuple[float | str, ...]] = {"answers": ("ratio", "estimated", "squares")}
        if not self.fixed:
            # A larger rank cannot help while some dimensions are not used.
            most = largest_rank(len(X)) if _uses_all(X) else fit.rank
            axes["ridge"] = TUNING.ridges
            axes["rank"] = tuple(rank for rank in reversed(TUNING.ranks) if rank <= most)
            axes["shift"] = (0.0, TUNING.shift_ridge)
        yield from steps(fit, axes)

    def urgent(self, candidates: Candidates[FitSetting, Floats], seen: int) -> tuple[FitSetting, ...]:
        """Nothing: every candidate is fitted to all answers, so a new one loses nothing by waiting."""
        return ()

    def exploratory(self, candidates: Candidates[FitSetting, Floats], seen: int) -> list[FitSetting]:
        """The settings ``TUNING.free`` whose rank differs from the leader's, without and with features.

        If the leader uses features, the search without them goes on beside it: the neighbours of the best candidate
        without features come first, unless enough of them are being tried.
        """
        most, leader = largest_rank(len(candidates.leader.model)), candidates.leader.setting
        free = [] if self.fixed else [free for free in TUNING.free if leader.rank != free.rank <= most]
        if self.features is None:
            return free
        shares = equal_shares(self.features, TUNING.exploratory_share)
        with_features = [fit._replace(shares=shares) for fit in free]
        if not leader.shares:
            return [*free, *with_features]
        plain = [entry for entry in candidates.entries if not entry.setting.shares]
        if sum(not is_tried(entry) for entry in plain) >= TUNING.tried_without_features:
            return with_features
        beside = self._beside(next(filter(is_tried, plain), plain[0])) if plain else iter(())
        return [*beside, *free, *with_features]

    def protected(self, entries: list[Fit]) -> list[Fit]:
        """The best candidate without features and the newest ones; and the best one without each of several blocks."""
        plain = [entry for entry in entries if not entry.setting.shares] if self.features is not None else []
        new = [entry for entry in plain if not is_tried(entry)]
        newest = sorted(new, key=lambda entry: entry.evidence.n_own)[: TUNING.tried_without_features]
        best = [next(filter(is_tried, plain), plain[0])] if plain else []
        return [*best, *newest, *(entry for entry, _ in self.without_block(entries))]

    def without_block(self, entries: list[Fit]) -> Iterator[tuple[Fit, str]]:
        """For each of several blocks, the best candidate that uses features but not this block."""
        names = self.features.names if self.features is not None else ()
        for name in names if len(names) > 1 else ():
            members = [entry for entry in entries if entry.setting.shares and name not in dict(entry.setting.shares)]
            if members:
                yield next(filter(is_tried, members), members[0]), name

    def credence(self, setting: FitSetting, seen: int) -> float:
        """How much a candidate counts in the mixture before evidence: little without features while answers are few."""
        if self.features is None or setting.shares:
            return 1.0
        return seen / (seen + len(self.features.axes)) if seen else 1.0

    def prior(self, setting: FitSetting) -> FeaturePrior | None:
        """What the features say about the coordinates; None if the setting uses none."""
        if self.features is None or not setting.shares:
            return None
        prior = self.priors.get(setting.shares)
        if prior is None:
            if len(self.priors) >= _MOST_PRIORS:
                self.priors.clear()
            # Its bits must not depend on who asks for it first.
            with one_thread(0):
                prior = self.priors[setting.shares] = FeaturePrior.of(self.features, setting.shares)
        return prior.with_rank(setting.rank)

    def begin(self, setting: FitSetting, model: Floats, seen: int) -> Floats:
        """Coordinates to start a fit from: the principal axes of the leader's coordinates, plus small random numbers.

        The random numbers are needed because the gradient of a column of zeros is zero. With features, coordinates are
        rotated to the mean of the prior; while answers are few, the fit starts at this mean.
        """
        X, rank = model, setting.rank
        start = np.zeros((len(X), rank + 1))
        noise = np.random.default_rng((self.seed, seen, rank)).standard_normal((len(X), rank))
        prior = self.prior(setting)
        if prior is not None:
            start[:, :-1] = prior.mean
            if seen >= TUNING.exact_at * len(X):
                left, _, right = np.linalg.svd(X[:, :-1].T @ prior.mean, full_matrices=False)
                start[:, :-1] = X[:, :-1] @ (left @ right)
            start[:, :-1] += TUNING.least_noise * noise
        else:
            _, vectors = np.linalg.eigh(X[:, :-1].T @ X[:, :-1])
            axes = vectors[:, ::-1][:, :rank]
            start[:, : axes.shape[1]] = X[:, :-1] @ axes
            start[:, :-1] += max(TUNING.least_noise, TUNING.noise * math.sqrt(np.mean(X[:, :-1] ** 2))) * noise
        if setting.shift:
            start[:, -1] = X[:, -1]
        return start

    def answer_model(self, setting: FitSetting) -> AnswerModel | None:
        """The fixed answer model of a setting; None if it is estimated."""
        return setting.answer_model

    def excess(self, setting: FitSetting, model: Floats, T: Ids) -> Floats:
        """The decision values of a fit."""
        near, far = predicted_distances(setting, model, T).T
        return np.asarray(near - far)


def is_tried(entry: Fit) -> bool:
    """Whether at least half of a candidate's evidence comes from its own predictions, not from those of the leader."""
    # The weight of an answer grows like its number to the power of the discount.
    share = 1.0 - 0.5 ** (1.0 / entry.evidence.discount)
    return bool(entry.evidence.n_own >= share * entry.evidence.n_answers > 0.0)


def equal_shares(features: Features, total: float) -> Shares:
    """The same share for each block."""
    return tuple((name, round(total / len(features.names), 4)) for name in features.names)


def next_shares(features: Features, shares: Shares) -> Iterator[Shares]:
    """Shares that differ in one block by one step; from no features, all blocks together and each one alone."""
    if not shares:
        yield equal_shares(features, TUNING.exploratory_share)
        if len(features.names) > 1:
            yield from (((name, TUNING.exploratory_share),) for name in features.names)
        return
    values = {name: dict(shares).get(name, 0.0) for name in features.names}
    for name, value in values.items():
        for step in next_values(TUNING.shares, value):
            moved = tuple((other, share) for other, share in {**values, name: step}.items() if share)
            if sum(share for _, share in moved) <= TUNING.largest_share:
                yield moved


def _uses_all(X: Floats) -> bool:
    """Whether the coordinates use all their dimensions."""
    values = np.linalg.eigvalsh(X[:, :-1].T @ X[:, :-1])
    return bool(values[0] > 1e-3 * values[-1])
