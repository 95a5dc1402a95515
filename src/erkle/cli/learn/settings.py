"""What `erkle learn` was asked to do, checked before any work begins."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from erkle.files import load_npz
from erkle.kernels.low_rank import LowRank
from erkle.losses import Loss
from erkle.online import ERKLE
from erkle.steps import Step
from erkle.triplets import Objects, read_objects

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """The options of `erkle learn`."""

    kernel: LowRank | None
    loss: Loss
    step: Step
    direction: str
    passes: int
    tol: float
    seed: int
    start: Path | None
    objects: Path | None
    worker: str | None
    test: Path | None
    holdout: float
    shuffle: bool
    dimensions: int
    out: Path
    checkpoint_every: int
    resume: bool

    def __post_init__(self) -> None:
        if not 0.0 <= self.holdout < 1.0:
            raise ValueError(f"--holdout is {self.holdout}; pass a share from 0 up to, not including, 1.")
        if self.holdout and self.test:
            raise ValueError("--holdout and --test were both given; pass one of them.")
        if self.start and self.objects:
            raise ValueError("--start and --objects were both given; a saved kernel has its own objects.")
        if self.dimensions < 1:
            raise ValueError(f"--dimensions is {self.dimensions}; pass at least 1.")
        if self.checkpoint_every < 0:
            raise ValueError(f"--checkpoint-every is {self.checkpoint_every}; pass 0 or more answers.")
        if self.seed < 0:
            raise ValueError(f"--seed is {self.seed}; pass an integer of at least 0.")
        # A learner of three objects meets every other bad value before the file is read; its options have our names.
        try:
            self.learner(3).partial_fit([])
        except ValueError as trouble:
            raise ValueError(f"--{trouble}") from None

    @cached_property
    def listed(self) -> Objects | None:
        """The objects of the list, if one was given, read once."""
        return None if self.objects is None else read_objects(self.objects)

    @cached_property
    def started(self) -> tuple[ERKLE, list[str]] | None:
        """The saved learner to go on with, if one was given, and its names."""
        if self.start is None:
            return None
        learner = ERKLE.load(self.start)
        labels = load_npz(self.start)[0].get("labels")
        if labels is None:
            raise ValueError(f"{self.start} was saved without names, which answers need; save it with labels=[...].")
        return learner, labels.tolist()

    def first_learner(self, n_objects: int) -> ERKLE:
        """The learner to begin with: the saved one, if there is one."""
        if self.started:
            learner = self.started[0]
            return learner.add_objects(n_objects - learner.n_objects_)
        return self.learner(n_objects).partial_fit([])

    def learner(self, n_objects: int) -> ERKLE:
        """A fresh learner."""
        return ERKLE(
            n_objects,
            loss=self.loss,
            step=self.step,
            direction=self.direction,  # type: ignore[arg-type]
            passes=self.passes,
            tol=self.tol,
            random_state=self.seed,
            kernel=self.kernel,
        )

    @cached_property
    def pattern(self) -> ERKLE:
        """A learner with the parameters to learn by, whatever its size."""
        return self.started[0] if self.started else self.learner(3)

    def that_matter(self) -> dict[str, Any]:
        """Everything the learned kernel and its errors depend on, as JSON can hold it."""
        learner = self.pattern
        return {
            "start": str(self.start) if self.start else None,
            "kernel": "exact" if learner.kernel is None else repr(learner.kernel),
            **_moves(learner),
            "seed": self.seed,
            "holdout": self.holdout,
            "shuffle": self.shuffle,
        }


def _moves(learner: ERKLE) -> dict[str, Any]:
    """How a learner moves that was told how to."""
    if learner.kernel is not None and not learner.kernel.is_told:
        return {}
    moves = {name: repr(getattr(learner, name)) for name in ("loss", "step")}
    return {**moves, **{name: getattr(learner, name) for name in ("direction", "passes", "tol")}}
