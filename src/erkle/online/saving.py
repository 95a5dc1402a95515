"""A learner as a file: arrays and a line of JSON, without any code that could run when it is read.

Law: a loaded learner continues exactly as the saved one would have, to the last bit.

`erkle.files` checks format, version and checksums, and each part checks the shapes of its arrays. Nothing else is
checked: a file that passes holds what was saved.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.checks import shaped, whole
from erkle.features import Features
from erkle.files import FileError
from erkle.kernels.dense import Dense
from erkle.kernels.lapack import one_thread
from erkle.kernels.low_rank import LowRank
from erkle.losses import LOSSES, Loss, check_loss
from erkle.npz_files import Arrays, Packed, prefixed, under
from erkle.online.models import unpack_model
from erkle.online.participants import Participants
from erkle.online.record import Record
from erkle.online.replay import Replay, generator
from erkle.online.settings import check_settings
from erkle.steps import STEPS, Step, check_step

if TYPE_CHECKING:
    from erkle.online.erkle import ERKLE

Learner = TypeVar("Learner", bound="ERKLE")

_PLAIN = ("n_objects", "direction", "passes")


def file_contents(learner: "ERKLE", labels: list[str] | None) -> Packed:
    """The content of a file: the learner, its kernel or coordinates for other programs, and the names of objects."""
    if labels is not None and len(labels) != learner.n_objects_:
        raise ValueError(f"Got {len(labels)} labels for {learner.n_objects_} objects; pass one label per object.")
    arrays, meta = pack(learner)
    arrays |= learner._model.kernel.readable()
    if labels is not None:
        arrays["labels"] = np.array(labels, dtype=np.str_)
    return arrays, meta


def pack(learner: "ERKLE") -> Packed:
    """The whole state of a fitted learner, as arrays and JSON values."""
    # Parameters that were changed since the last answer are checked now, not when the file is read.
    check_settings(learner)
    replay, seed = learner._replay, learner.random_state
    model_arrays, model_meta = learner._model.pack()
    arrays = {"history": replay.history, "history_participants": replay.participants, **model_arrays}
    arrays |= prefixed("record", learner._record.arrays()) | prefixed("participants", learner._participants.arrays())
    if learner.features is not None and learner.features is not learner._known:
        # The model has its own features.
        with one_thread(learner.n_objects):
            arrays |= prefixed("next_features", Features.of(learner.features, learner.n_objects).arrays())
    kernel = learner.kernel
    if isinstance(kernel, Dense) and kernel.initial is not None:
        arrays["initial_kernel"] = np.asarray(kernel.initial, dtype=np.float64)
        kernel = kernel._replace(initial=None)
    return arrays, {
        "kind": "ERKLE",
        **model_meta,
        "parameters": {name: _plain(getattr(learner, name)) for name in _PLAIN},
        "has_features": learner.features is not None,
        "kernel": [type(kernel).__name__, *map(_plain, kernel)],
        "loss": None if learner.loss is None else description(learner.loss),
        "step": None if learner.step is None else description(learner.step),
        "random_state": _plain(seed) if isinstance(seed, int | np.integer) else None,
        "generator": replay.rng.bit_generator.state,
        "replay_passes": replay.passes,
        "replay_keep": replay.keep,
        "n_triplets_seen": replay.seen,
        "n_mistakes": learner._n_mistakes,
    }


def unpack(
    kind: type[Learner], packed: Packed, name: str, loss: Loss | None = None, step: Step | None = None
) -> Learner:
    """Restore a learner from what `pack` returned; ``name`` is the name of the file in errors."""
    arrays, meta = packed
    loss = None if loss is None else check_loss(loss)
    step = None if step is None else check_step(step)
    if meta.get("kind") != "ERKLE":
        raise FileError(f"{name}: does not hold a learner; pass a file that ERKLE.save or `erkle learn` wrote.")
    with _damage_named(name):
        features = under("next_features", arrays) or under("features", arrays)
        learner = kind(
            features=Features.from_arrays(features) if meta["has_features"] else None,
            loss=loss if loss is not None else _part(meta["loss"], LOSSES, "loss", name),
            step=step if step is not None else _part(meta["step"], STEPS, "step", name),
            random_state=meta["random_state"],
            kernel=kernel_from(meta["kernel"], arrays.get("initial_kernel")),
            **meta["parameters"],
        )
    if loss is not None or step is not None:
        # The caller may have passed a loss that does not fit the kernel, which is no damage.
        check_settings(learner)
    with _damage_named(name):
        _restore(learner, arrays, meta)
    return learner


@contextmanager
def _damage_named(name: str) -> Iterator[None]:
    """Turn the errors of an incomplete or damaged file into a sentence."""
    try:
        yield
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileError(
            f"{name}: the learner in it is incomplete or damaged ({error}); restore the file from a copy."
        ) from error


def _restore(learner: "ERKLE", arrays: Arrays, meta: dict[str, Any]) -> None:
    model = unpack_model(arrays, meta, check_settings(learner).rule)
    n_objects = model.kernel.n_objects
    rng = generator(learner.random_state)
    rng.bit_generator.state = meta["generator"]
    seen, n_mistakes = (whole(meta[name], name, 0, "it is a count") for name in ("n_triplets_seen", "n_mistakes"))
    # Equal numbers mean that a review was interrupted: the next call repeats it.
    if model.next_review < seen:
        raise ValueError(f"the next review is at {model.next_review} answers, after {seen}")
    replay = Replay(whole(meta["replay_passes"], "passes", 1, "it is a count"), rng, meta["replay_keep"])
    history = shaped(arrays, "history", (len(arrays["history"]), 3), np.int32)
    # Compiled code does not check the ids of replayed answers.
    triplets.check(history, n_objects)
    participants = Participants.from_arrays(under("participants", arrays))
    given = shaped(arrays, "history_participants", (len(history),), np.int32)
    if len(given) and not 0 <= given.min() <= given.max() < len(participants.counts):
        raise ValueError("an answer names a participant that does not exist")
    replay.restore(seen, history, given)
    record = Record.from_arrays(under("record", arrays), n_objects)
    learner._begin(model, replay, record, participants, n_mistakes)


def kernel_from(fields: list[Any], initial: NDArray[np.float64] | None = None) -> Dense | LowRank:
    """The kernel's specification from its name and fields; only a `Dense` has an initial matrix."""
    name, *values = fields
    kernel: Dense | LowRank = {"Dense": Dense, "LowRank": LowRank}[name](*values)
    return kernel._replace(initial=initial) if isinstance(kernel, Dense) else kernel


def description(part: Any) -> list[Any]:
    """A loss or step as JSON can hold it: its name and its fields."""
    return [type(part).__name__, *map(float, part)]


def _part(described: list[Any] | None, known: dict[str, type[Any]], kind: str, path: str) -> Any:
    if described is None:
        return None
    name, *fields = described
    for part in known.values():
        if part.__name__ == name:
            return part(*fields)
    raise FileError(f"{path}: was learned with the {kind} {name}, which is your own; pass {kind}={name}(...) to load.")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
