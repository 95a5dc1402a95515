"""The options of `erkle learn`, checked before any work begins.

An option that has no effect on the chosen kernel is refused. A loss or a step is written as a name, with its settings
after a colon.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sklearn.base import clone

from erkle.cli.features import KnownFeatures, Matched, read_files
from erkle.cli.options import check_dimensions
from erkle.kernels.dense import Dense
from erkle.kernels.low_rank import LowRank
from erkle.losses import LOSSES, Loss, check_loss
from erkle.npz_files import load_npz
from erkle.online import ERKLE
from erkle.online.settings import check_settings
from erkle.steps import STEPS, Step, check_step, margin_of_probability
from erkle.triplets import Objects, read_objects

# Options that only a learner that follows an update rule uses.
_RULE = ("loss", "step", "direction")
# Options of the low-rank kernel.
_LOW_RANK = ("rank", "trace", "consolidate")


@dataclass(frozen=True)
class Settings:
    """The options of `erkle learn`. ``fresh`` is a learner of 3 objects whose parameters say how to learn."""

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
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 <= self.holdout < 1.0:
            raise ValueError(f"--holdout is {self.holdout}; pass a share of at least 0 and less than 1.")
        if self.holdout and self.test:
            raise ValueError("--holdout and --test were both given; pass one of them.")
        if self.start and self.objects:
            raise ValueError(
                "--start and --objects were both given; omit --objects, because a saved learner has its own objects."
            )
        check_dimensions(self.dimensions)
        if self.checkpoint_every < 0:
            raise ValueError(f"--checkpoint-every is {self.checkpoint_every}; pass 0 or more answers.")
        if self.seed < 0:
            raise ValueError(f"--seed is {self.seed}; pass an integer of at least 0.")
        # A learner of three objects checks all other values before the file is read. Its parameters have the names
        # of our options, and its errors start with them.
        try:
            clone(self.fresh).partial_fit([])
        except ValueError as error:
            raise ValueError(f"--{error}") from None

    @cached_property
    def object_list(self) -> Objects | None:
        """The objects in the file of --objects, or None."""
        return None if self.objects is None else read_objects(self.objects)

    @cached_property
    def known(self) -> KnownFeatures | None:
        """The features in the files of --features, or None."""
        if not self.features:
            return None
        return KnownFeatures(Matched.of(read_files(self.features), self.object_list))

    @cached_property
    def saved(self) -> tuple[ERKLE, list[str]] | None:
        """The learner in the file of --start and the names of its objects, or None."""
        if self.start is None:
            return None
        learner = ERKLE.load(self.start)
        labels = load_npz(self.start)[0].get("labels")
        if labels is None:
            raise ValueError(f"{self.start} contains no names of objects; save it with labels=[...].")
        return learner, labels.tolist()

    def new_learner(self, n_objects: int) -> ERKLE:
        """The learner to start with: the saved one of --start, or a new one."""
        if self.saved:
            learner = self.saved[0]
            return learner.add_objects(n_objects - learner.n_objects_)
        features = self.known.of(n_objects) if self.known else None
        fresh: ERKLE = clone(self.fresh).set_params(n_objects=n_objects, features=features)
        return fresh.partial_fit([])

    @property
    def template(self) -> ERKLE:
        """A learner with the parameters of this run and any number of objects."""
        return self.saved[0] if self.saved else self.fresh

    def learning_settings(self) -> dict[str, Any]:
        """The settings that the learned kernel and its errors depend on, for JSON."""
        learner = self.template
        return {
            "start": str(self.start) if self.start else None,
            "kernel": _kernel_text(learner.kernel),
            **_rule(learner),
            "passes": learner.passes,
            "seed": self.seed,
            "holdout": self.holdout,
            "shuffle": self.shuffle,
            "participant": self.participant_column,
            "features": self.known.digest if self.known else None,
        }


def _kernel_text(kernel: Dense | LowRank) -> str:
    if isinstance(kernel, LowRank):
        return repr(kernel)
    return f"Dense(tol={kernel.tol}, projection={kernel.projection!r})"


def _rule(learner: ERKLE) -> dict[str, Any]:
    """The update rule, if the learner follows one."""
    if not learner.kernel.follows_rule:
        return {}
    loss, step, canonical = check_settings(learner).rule
    direction = "canonical" if canonical else "gradient"
    return {"loss": repr(loss), "step": repr(step), "direction": direction}


def kernel_from_options(
    given: set[str], exact: bool, rank: str, trace: float | None, consolidate: str, tol: float
) -> Dense | LowRank:
    """The kernel of the options; ``given`` are the names of the options that the user has given.

    >>> kernel_from_options({"rank"}, False, "10", None, "auto", 0.01)
    LowRank(rank=10, trace=None, consolidate='auto')
    """
    kernel = Dense(tol) if exact else LowRank(_rank(rank), trace, _share(consolidate))
    for name in ("exact", *_LOW_RANK, *_RULE, "passes", "tol", "features"):
        if name in given and (sentence := _misfit(name, given, kernel)):
            raise ValueError(sentence)
    return kernel


def _misfit(name: str, given: set[str], kernel: Dense | LowRank) -> str | None:
    """A sentence that says why an option has no effect, or None if it has one."""
    if "start" in given:
        return f"--start and --{name} were both given; omit --{name}, because a saved learner keeps its settings."
    if isinstance(kernel, Dense):
        low_rank = f"--exact and --{name} were both given; omit one of them, because --{name} needs a low-rank kernel."
        return low_rank if name in (*_LOW_RANK, "features") else None
    if name == "tol":
        return "--tol was given without --exact; only the exact kernel uses it."
    if name == "features":
        return _features_misfit(kernel)
    if kernel.chooses and name in _RULE:
        return f"--{name} was given without --exact or a number for --rank; the default learner does not use it."
    if kernel.chooses and name == "trace":
        return "--trace was given without a number for --rank; the default learner chooses the trace itself."
    if kernel.consolidates and name in _RULE:
        return f"--{name} and --consolidate were both given; omit one of them, because fits do not use --{name}."
    return None


def _features_misfit(kernel: LowRank) -> str | None:
    """The same for --features: how much features count is chosen among fits."""
    if not kernel.chooses:
        return "--features and a number for --rank were both given; omit one, because only --rank auto uses features."
    if not kernel.consolidates:
        return "--features and --consolidate off were both given; omit one, because only fits use features."
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
    """The loss that a text describes.

    >>> loss_from_text("ckl:mu=0.1")
    CKL(mu=0.1)
    """
    loss: Loss = check_loss(_part(text, LOSSES, "loss"))
    return loss


def step_from_text(text: str) -> Step:
    """The step that a text describes; passive-aggressive steps accept a probability instead of the margin.

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
            raise ValueError(f"--{kind} {text} gives a setting twice; give each setting once.")
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
