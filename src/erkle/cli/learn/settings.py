"""The options of `erkle learn`, checked before any work begins.

Options without meaning for the kernel that is asked for are refused, not ignored. Losses and steps are written as a
name, with settings behind a colon.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sklearn.base import clone

from erkle.files import load_npz
from erkle.kernels.dense import Dense
from erkle.kernels.low_rank import LowRank
from erkle.losses import LOSSES, Loss, check_loss
from erkle.online import ERKLE
from erkle.online.settings import check_settings
from erkle.steps import STEPS, Step, check_step, margin_of_probability
from erkle.triplets import Objects, read_objects

_RULE = ("loss", "step", "direction", "passes")
_LOW_RANK = ("rank", "trace", "consolidate")


@dataclass(frozen=True)
class Settings:
    """The options of `erkle learn`; those that say how to learn are parameters of ``fresh``, a learner of 3 objects."""

    fresh: ERKLE
    seed: int
    start: Path | None
    objects: Path | None
    participant_column: str | None
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
            clone(self.fresh).partial_fit([])
        except ValueError as trouble:
            raise ValueError(f"--{trouble}") from None

    @cached_property
    def object_list(self) -> Objects | None:
        """The objects of the list, if one was given, read once."""
        return None if self.objects is None else read_objects(self.objects)

    @cached_property
    def saved(self) -> tuple[ERKLE, list[str]] | None:
        """The saved learner to go on with, if one was given, and its names."""
        if self.start is None:
            return None
        learner = ERKLE.load(self.start)
        labels = load_npz(self.start)[0].get("labels")
        if labels is None:
            raise ValueError(f"{self.start} was saved without names, which answers need; save it with labels=[...].")
        return learner, labels.tolist()

    def new_learner(self, n_objects: int) -> ERKLE:
        """The learner to begin with: the saved one, if there is one."""
        if self.saved:
            learner = self.saved[0]
            return learner.add_objects(n_objects - learner.n_objects_)
        fresh: ERKLE = clone(self.fresh).set_params(n_objects=n_objects)
        return fresh.partial_fit([])

    @property
    def template(self) -> ERKLE:
        """A learner with the parameters to learn by, whatever its size."""
        return self.saved[0] if self.saved else self.fresh

    def learning_settings(self) -> dict[str, Any]:
        """Everything the learned kernel and its errors depend on, as JSON can hold it."""
        learner = self.template
        return {
            "start": str(self.start) if self.start else None,
            "kernel": _kernel_text(learner.kernel),
            **_rule(learner),
            "seed": self.seed,
            "holdout": self.holdout,
            "shuffle": self.shuffle,
        }


def _kernel_text(kernel: Dense | LowRank) -> str:
    if isinstance(kernel, LowRank):
        return repr(kernel)
    return f"Dense(tol={kernel.tol}, projection={kernel.projection!r})"


def _rule(learner: ERKLE) -> dict[str, Any]:
    """How answers move the kernel, if the learner's rule decides that."""
    if not learner.kernel.follows_rule:
        return {}
    loss, step, canonical = check_settings(learner).rule
    direction = "canonical" if canonical else "gradient"
    return {"loss": repr(loss), "step": repr(step), "direction": direction, "passes": learner.passes}


def kernel_from_options(
    given: set[str], exact: bool, rank: str, trace: float | None, consolidate: str, tol: float
) -> Dense | LowRank:
    """The kernel; ``given`` are the options that the user wrote.

    >>> kernel_from_options({"rank"}, False, "10", None, "auto", 0.01)
    LowRank(rank=10, trace=None, consolidate='auto')
    """
    kernel = Dense(tol) if exact else LowRank(_rank(rank), trace, _share(consolidate))
    for name in ("exact", *_LOW_RANK, *_RULE, "tol"):
        if name in given and (trouble := _misfit(name, given, kernel)):
            raise ValueError(trouble)
    return kernel


def _misfit(name: str, given: set[str], kernel: Dense | LowRank) -> str | None:
    """Why an option does not fit."""
    if "start" in given:
        return f"--start and --{name} were both given; a saved kernel is gone on with as it was begun."
    if isinstance(kernel, Dense):
        low_rank = (
            f"--exact and --{name} were both given; --{name} is for kernels of low rank, so leave out one of them."
        )
        return low_rank if name in _LOW_RANK else None
    if name == "tol":
        return "--tol was given without --exact; only the exact kernel has projections to be that close."
    if kernel.chooses and name in _RULE:
        return f"--{name} was given without --exact or a number for --rank; the default learner chooses its own moves."
    if kernel.chooses and name == "trace":
        return "--trace was given without a number for --rank; the default learner chooses its own."
    if kernel.consolidates and name in _RULE:
        return f"--{name} and --consolidate were both given; fits choose their own moves, so leave out one of them."
    return None


def _rank(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--rank is {text!r}; pass auto or an integer of at least 1.") from None


def _share(text: str) -> float | str:
    if text in ("auto", "off"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--consolidate is {text!r}; pass auto, off or a share such as 0.05.") from None


def loss_from_text(text: str) -> Loss:
    """A loss.

    >>> loss_from_text("ckl:mu=0.1")
    CKL(mu=0.1)
    """
    loss: Loss = check_loss(_part(text, LOSSES, "loss"))
    return loss


def step_from_text(text: str) -> Step:
    """A step; passive-aggressive ones also take a probability in place of the margin.

    >>> step_from_text("pa1:C=0.1")
    PassiveAggressiveI(margin=1.0, C=0.1)
    """
    step: Step = check_step(_part(text, STEPS, "step"))
    return step


def _part(text: str, known: dict[str, type[Any]], kind: str) -> Any:
    name, _, settings = text.partition(":")
    name = name.strip().lower()
    if name not in known:
        raise ValueError(f"--{kind} is {name!r}; pass one of {', '.join(known)}.")
    part = known[name]
    spellings = {field.lower(): field for field in part._fields}
    if kind == "step" and "margin" in spellings:
        spellings["probability"] = "probability"
    fields: dict[str, float] = {}
    for setting in filter(None, settings.split(",")):
        word, value = _field(setting, kind)
        if word not in spellings:
            has = f"takes {', '.join(spellings.values())}" if spellings else "takes no settings"
            raise ValueError(f"--{kind} {name} has no setting {word!r}; it {has}.")
        if spellings[word] in fields or {word, *fields} >= {"margin", "probability"}:
            raise ValueError(f"--{kind} {text} sets the same thing twice; give each setting once.")
        fields[spellings[word]] = value
    if "probability" in fields:
        fields["margin"] = margin_of_probability(fields.pop("probability"))
    return part(**fields)


def _field(setting: str, kind: str) -> tuple[str, float]:
    name, _, value = setting.partition("=")
    try:
        return name.strip().lower(), float(value)
    except ValueError:
        raise ValueError(f"--{kind} has the setting {setting!r}; write it as name=number.") from None
