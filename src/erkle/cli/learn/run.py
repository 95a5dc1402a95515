"""A run of `erkle learn`: a learner with its error curve and its checkpoints."""

import time
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle import triplets
from erkle.cli.learn.curve import ErrorCurve, ShowCurve
from erkle.cli.learn.fitting import FitClock
from erkle.cli.learn.interruption import Interruption
from erkle.cli.learn.settings import Settings
from erkle.cli.screen import waiting
from erkle.files import FileError
from erkle.kernels.dense import Dense
from erkle.kernels.forms import check_room
from erkle.npz_files import load_npz, save_npz
from erkle.online import ERKLE
from erkle.online.models.fit_progress import told_to
from erkle.online.saving import pack, unpack
from erkle.triplets import Labels

# The participant who gave each of some answers, or None if the column is not read.
Names = NDArray[np.object_] | None

_FORMAT = "erkle checkpoint"
# Most answers learned between two updates of the bar.
_PIECE = 1000
# Seconds between two updates of the bar, if answers take long.
_SECONDS_PER_UPDATE = 0.5
# Seconds between two checkpoints of a stream, which cannot be read again. Saving takes at most 5 % of the time.
STREAM_SECONDS, _SHARE = 60.0, 20.0
# Most test answers used for a point of the error curve, spread evenly; the last point uses all of them.
MOST_TESTED = 5000


class Run:
    """Learns answers from a file or a stream, and keeps the error curve and the checkpoints.

    With ``is_stream``, checkpoints are also made by time.
    """

    def __init__(self, settings: Settings, labels: Labels, test: NDArray[np.int64], is_stream: bool = False) -> None:
        self.settings, self.labels = settings, labels
        self.curve = ErrorCurve()
        self.learner: ERKLE | None = None
        self.checkpoint = settings.out / "checkpoint.npz"
        self._piece = _PIECE
        self._saved_at = 0
        # For checkpoints by time: whether there is anything new, when the last one was made, and how long that took.
        self._by_time = is_stream and settings.checkpoint_every > 0
        self._has_news, self._saved_time, self._saving_seconds = False, time.monotonic(), 0.0
        self._test = [test]

    @property
    def test(self) -> NDArray[np.int64]:
        """The answers that the error is measured on, including those held out so far."""
        if len(self._test) > 1:
            self._test = [np.concatenate(self._test)]
        return self._test[0]

    def hold_out(self, T: NDArray[np.int64]) -> None:
        """Keep the rows that `learn` will leave out, for testing."""
        self._learner_of_all_objects()
        self._has_news = True
        if self.settings.holdout:
            self._test.append(T[triplets.held_out(T, self.settings.holdout, self.settings.seed)])

    def learn(self, T: NDArray[np.int64], participants: Names, show: ShowCurve, interruption: Interruption) -> int:
        """Learn rows, except those held out, until they end, a checkpoint is due or the user interrupts.

        ``participants`` says who gave each answer. Returns the number of rows used.
        """
        held_out = triplets.held_out(T, self.settings.holdout, self.settings.seed)
        used = 0
        while used < len(T) and not interruption.asked and not (used and self.checkpoint_is_due()):
            piece = slice(used, used + min(self._piece, self.curve.until_next_point(), self._until_checkpoint()))
            names = None if participants is None else participants[piece]
            with interruption.deferred():
                used += self._learn(T[piece], names, ~held_out[piece], interruption)
            show(self.curve, gets_slower=self._gets_slower())
        return used

    def _learner_of_all_objects(self) -> ERKLE:
        """The learner, extended by all objects named so far; too many objects are refused first."""
        n_objects = len(self.labels)
        n_known = self.learner.n_objects_ if self.learner else 0
        if n_objects > n_known and isinstance(self.settings.template.kernel, Dense):
            check_room(n_objects, self.settings.template.kernel.tol)
        if self.learner is None:
            self.learner = self.settings.new_learner(n_objects)
        elif n_objects > n_known:
            self.learner.add_objects(n_objects - n_known)
        return self.learner

    def _learn(
        self, T: NDArray[np.int64], participants: Names, to_learn: NDArray[np.bool_], interruption: Interruption
    ) -> int:
        """Learn the rows to learn; return the number of rows used, which is less than all after an interruption."""
        learner, rows = self._learner_of_all_objects(), np.flatnonzero(to_learn)
        names = None if participants is None else participants[rows]
        decisions, started = np.full(len(rows), np.nan), time.monotonic()
        interruption.run(partial(learner.prequential, T[rows], participants=names, out=decisions))
        learned = int(np.count_nonzero(~np.isnan(decisions)))
        self._has_news = True
        seconds = max(time.monotonic() - started, 1e-3)
        self._piece = min(_PIECE, max(1, round(learned / seconds * _SECONDS_PER_UPDATE)))
        self.curve.add(decisions[:learned])
        if self.curve.until_next_point() == 0:
            self.add_point()
        return len(T) if learned == len(rows) else int(rows[learned])

    def _gets_slower(self) -> bool:
        """Whether answers will take longer than now: an exact kernel has not needed an eigenpair yet."""
        assert self.learner is not None
        return isinstance(self.learner.kernel, Dense) and self.learner.counters_.n_eigenpairs == 0

    def add_point(self) -> None:
        """Add a point to the error curve, measured on some of the test answers."""
        every = -(-len(self.test) // MOST_TESTED)
        self.curve.add_point(self._error(self.test[:: max(1, every)]))

    def finish(self) -> None:
        """Fit all answers once more if the learner does that, and add the last point of the error curve."""
        assert self.learner is not None
        if self.learner.kernel.consolidates:
            clock, skip = FitClock(), "; Ctrl-C skips it"
            with (
                suppress(KeyboardInterrupt),
                waiting(f"Fitting all answers once more{skip}") as say,
                told_to(lambda progress: say(clock.say(progress) + skip)),
            ):
                self.learner.consolidate()
        self.curve.add_point(self._error(self.test))

    def _error(self, T: NDArray[np.int64]) -> float:
        """Share of answers predicted wrongly, computed in pieces to limit memory."""
        assert self.learner is not None
        pieces = [T[start : start + MOST_TESTED] for start in range(0, len(T), MOST_TESTED)]
        right = sum(int(self.learner.predict(piece).sum()) for piece in pieces)
        return 1.0 - right / len(T) if len(T) else float("nan")

    def checkpoint_is_due(self) -> bool:
        """Whether enough answers have been learned, or enough time has passed, since the last checkpoint."""
        return self._until_checkpoint() <= 0 or self.seconds_until_checkpoint() == 0.0

    def seconds_until_checkpoint(self) -> float | None:
        """Seconds until a checkpoint is due by time; None if there is nothing to save."""
        if not (self._by_time and self._has_news):
            return None
        due = self._saved_time + max(STREAM_SECONDS, _SHARE * self._saving_seconds)
        return max(0.0, due - time.monotonic())

    def _until_checkpoint(self) -> int:
        every = self.settings.checkpoint_every
        return self._saved_at + every - self.curve.n_answers if every else _PIECE

    def save(self, source: dict[str, Any] | None = None) -> None:
        """Write a checkpoint. ``source`` says how much of a file was used; a stream has none."""
        assert self.learner is not None
        self._saved_at = self.curve.n_answers
        begun = self._saved_time = time.monotonic()
        arrays, learner = pack(self.learner)
        curve_arrays, curve = self.curve.pack()
        # Held-out answers of a file can be read again; those of a stream must be saved.
        test = self.test if source is None else np.empty((0, 3), np.int64)
        arrays = {**arrays, **curve_arrays, "labels": np.array(self.labels.names, dtype=np.str_), "test": test}
        # An empty fingerprint matches no file.
        source = source or {"covered": 0, "fingerprint": ""}
        meta = {"format": _FORMAT, "learner": learner, "curve": curve, "source": source}
        save_npz(self.checkpoint, arrays, {**meta, "settings": self.settings.learning_settings()})
        self._has_news, self._saved_time = False, time.monotonic()
        self._saving_seconds = self._saved_time - begun

    def resume(self) -> dict[str, Any]:
        """Restore the checkpoint and return its source. A checkpoint with other settings is refused."""
        arrays, meta = load_npz(self.checkpoint, format=_FORMAT)
        for name, wanted in self.settings.learning_settings().items():
            if (found := meta["settings"].get(name)) != wanted:
                raise ValueError(
                    f"{self.checkpoint} was made with {name} {found}, but this run has {name} {wanted}; "
                    "resume with the same settings, or choose another --out."
                )
        file = self.checkpoint.name
        try:
            names, source, test = arrays["labels"].tolist(), meta["source"], arrays["test"]
            self.curve.restore(arrays, meta["curve"])
            self.learner = unpack(ERKLE, (arrays, meta["learner"]), file)
        except (KeyError, TypeError, IndexError) as error:
            raise FileError(f"{file}: is not a complete checkpoint ({error}); delete it and start again.") from error
        if len(test):
            self._test = [test]
        if names != self.labels.names[: len(names)]:
            raise ValueError(f"{self.checkpoint} has other objects than the answers; choose another --out.")
        self._saved_at = self.curve.n_answers
        return dict(source)


def known_names(settings: Settings) -> list[str]:
    """The names of objects that are known before the first answer is read."""
    if settings.object_list:
        return settings.object_list.ids
    checkpoint = settings.out / "checkpoint.npz"
    if not checkpoint.exists():
        if settings.known:
            return settings.known.ids
        return settings.saved[1] if settings.saved else []
    names: list[str] = load_npz(checkpoint, format=_FORMAT)[0]["labels"].tolist()
    return names
