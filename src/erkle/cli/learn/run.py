"""A learner on its way through a stream, with its error curve and its checkpoints."""

import os
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.cli.learn.curve import ErrorCurve, ShowCurve
from erkle.cli.learn.interruption import Interruption
from erkle.cli.learn.settings import Settings
from erkle.cli.screen import waiting
from erkle.files import FileError, load_npz, save_npz
from erkle.kernels.dense import Dense
from erkle.online import ERKLE
from erkle.online.saving import pack, unpack
from erkle.triplets import Labels

_FORMAT = "erkle checkpoint"
# Answers learned between two looks at the bar and at Ctrl-C.
_PIECE = 1000
# Test answers that a point on the way is measured on, spread evenly over all of them; the last point has them all.
_MOST_TESTED = 5000


class Run:
    """What `erkle learn` does with rows, wherever they come from."""

    def __init__(self, settings: Settings, labels: Labels, test: NDArray[np.int64]) -> None:
        self.settings, self.labels = settings, labels
        self.curve = ErrorCurve()
        self.learner: ERKLE | None = None
        self.checkpoint = settings.out / "checkpoint.npz"
        self._saved_at = 0
        self._test = [test]

    @property
    def test(self) -> NDArray[np.int64]:
        """The answers the error is measured on, those held out so far included."""
        if len(self._test) > 1:
            self._test = [np.concatenate(self._test)]
        return self._test[0]

    def hold_out(self, T: NDArray[np.int64]) -> None:
        """Keep back for testing what `learn` will leave out of these rows."""
        self._learner_of_all_objects()
        if self.settings.holdout:
            self._test.append(T[triplets.held_out(T, self.settings.holdout, self.settings.seed)])

    def learn(self, T: NDArray[np.int64], show: ShowCurve, interruption: Interruption) -> int:
        """Learn rows, less those held out, until they end, a checkpoint is due or somebody interrupts.

        Returns how many of them were used.
        """
        held_out = triplets.held_out(T, self.settings.holdout, self.settings.seed)
        used = 0
        while used < len(T) and not interruption.asked and not (used and self.checkpoint_is_due()):
            piece = slice(used, used + min(_PIECE, self.curve.until_next_point(), self._until_checkpoint()))
            with interruption.deferred():
                self._learn(T[piece][~held_out[piece]])
            used = min(len(T), piece.stop)
            show(self.curve)
        return used

    def _learner_of_all_objects(self) -> ERKLE:
        """The learner, with all objects that have been named so far; refused before it is too late."""
        n_objects = len(self.labels)
        n_known = self.learner.n_objects_ if self.learner else 0
        if n_objects > n_known and isinstance(self.settings.template.kernel, Dense):
            _check_memory(n_objects)
        if self.learner is None:
            self.learner = self.settings.new_learner(n_objects)
        elif n_objects > n_known:
            self.learner.add_objects(n_objects - n_known)
        return self.learner

    def _learn(self, T: NDArray[np.int64]) -> None:
        self.curve.add(self._learner_of_all_objects().prequential(T))
        if self.curve.until_next_point() == 0:
            self.add_point()

    def add_point(self) -> None:
        """Make a point of the error curve on the way."""
        every = -(-len(self.test) // _MOST_TESTED)
        self.curve.add_point(self._error(self.test[:: max(1, every)]))

    def finish(self) -> None:
        """Make the last point of the error curve, after a last fit of all answers if the learner makes such fits."""
        assert self.learner is not None
        if self.learner.kernel.consolidates:
            with suppress(KeyboardInterrupt), waiting("Fitting all answers once more; Ctrl-C does without."):
                self.learner.consolidate()
        self.curve.add_point(self._error(self.test))

    def _error(self, T: NDArray[np.int64]) -> float:
        """Share of answers predicted wrongly, a few thousand at a time."""
        assert self.learner is not None
        pieces = [T[start : start + _MOST_TESTED] for start in range(0, len(T), _MOST_TESTED)]
        right = sum(int(self.learner.predict(piece).sum()) for piece in pieces)
        return 1.0 - right / len(T) if len(T) else float("nan")

    def checkpoint_is_due(self) -> bool:
        """Whether enough has been learned since the last checkpoint."""
        return self._until_checkpoint() <= 0

    def _until_checkpoint(self) -> int:
        every = self.settings.checkpoint_every
        return self._saved_at + every - self.curve.n_answers if every else _PIECE

    def save(self, source: dict[str, Any] | None = None) -> None:
        """Write all that is needed to go on as if it had never stopped; ``source`` says how far a file was used."""
        assert self.learner is not None
        self._saved_at = self.curve.n_answers
        arrays, learner = pack(self.learner)
        curve_arrays, curve = self.curve.pack()
        # The answers a stream has held out cannot be read again, those of a file can.
        test = self.test if source is None else np.empty((0, 3), np.int64)
        arrays = {**arrays, **curve_arrays, "labels": np.array(self.labels.names, dtype=np.str_), "test": test}
        # No file has the fingerprint of a stream.
        source = source or {"covered": 0, "fingerprint": ""}
        meta = {"format": _FORMAT, "learner": learner, "curve": curve, "source": source}
        save_npz(self.checkpoint, arrays, {**meta, "settings": self.settings.learning_settings()})

    def resume(self) -> dict[str, Any]:
        """Stand where the checkpoint was made, and return what it says of the source; other settings are refused."""
        arrays, meta = load_npz(self.checkpoint, format=_FORMAT)
        for name, wanted in self.settings.learning_settings().items():
            if (found := meta["settings"].get(name)) != wanted:
                raise ValueError(
                    f"{self.checkpoint} was made with {name} {found}, but {wanted} is asked for; "
                    "resume with the same settings, or choose another --out."
                )
        file = self.checkpoint.name
        try:
            names, source, test = arrays["labels"].tolist(), meta["source"], arrays["test"]
            self.curve.restore(arrays, meta["curve"])
            self.learner = unpack(ERKLE, (arrays, meta["learner"]), file)
        except (KeyError, TypeError, IndexError) as error:
            raise FileError(f"{file}: is not a whole checkpoint ({error}); delete it and start again.") from error
        if len(test):
            self._test = [test]
        if names != self.labels.names[: len(names)]:
            raise ValueError(f"{self.checkpoint} knows other objects than the answers name; choose another --out.")
        self._saved_at = self.curve.n_answers
        return dict(source)


def known_names(settings: Settings) -> list[str]:
    """What answers may call the objects, as far as it is known before the first is read."""
    if settings.object_list:
        return settings.object_list.ids
    checkpoint = settings.out / "checkpoint.npz"
    if not checkpoint.exists():
        return settings.saved[1] if settings.saved else []
    names: list[str] = load_npz(checkpoint, format=_FORMAT)[0]["labels"].tolist()
    return names


def _check_memory(n_objects: int) -> None:
    """Refuse what cannot fit before the system kills us over it: two dense matrices."""
    if not hasattr(os, "sysconf"):
        return
    needed, there = 16 * n_objects**2, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise ValueError(
            f"{n_objects:,} objects need {needed / 2**30:,.0f} GiB for a dense kernel, but this machine has "
            f"{there / 2**30:,.0f} GiB; leave out --exact, or learn fewer objects at once."
        )
