"""Checkpoints of a run: everything that is needed to go on as if it had never stopped."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.cli.learn.curve import ErrorCurve
from erkle.cli.learn.settings import Settings
from erkle.files import FileError, load_npz, save_npz
from erkle.online import ERKLE
from erkle.online.saving import pack, unpack

__all__ = ["Position", "fingerprint", "known_names", "load_checkpoint", "save_checkpoint"]

_FORMAT = "erkle checkpoint"
_PIECE = 1 << 16


class Position(NamedTuple):
    """How far a file has been used: so many rows behind a byte at the end of a line."""

    offset: int
    line: int
    rows: int


def fingerprint(path: Path, offset: int) -> str:
    """A hash of the beginning of the file and of what stands just before the offset."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        digest.update(file.read(min(_PIECE, offset)))
        file.seek(max(0, offset - _PIECE))
        digest.update(file.read(min(_PIECE, offset)))
    return digest.hexdigest()


def known_names(settings: Settings) -> list[str]:
    """What answers may call the objects, as far as it is known before the first is read."""
    if settings.listed:
        return settings.listed.ids
    checkpoint = settings.out / "checkpoint.npz"
    if not checkpoint.exists():
        return settings.started[1] if settings.started else []
    arrays, _ = load_npz(checkpoint, format=_FORMAT)
    names: list[str] = arrays["labels"].tolist()
    return names


def save_checkpoint(
    path: Path,
    learner: ERKLE,
    names: list[str],
    curve: ErrorCurve,
    settings: Settings,
    source: dict[str, Any],
    test: NDArray[np.int64],
) -> None:
    """Write the state of a run, atomically; ``source`` says how far the answers have been used."""
    arrays, learner_meta = pack(learner)
    curve_arrays, curve_meta = curve.pack()
    meta = {
        "format": _FORMAT,
        "learner": learner_meta,
        "curve": curve_meta,
        "settings": settings.that_matter(),
        "source": source,
    }
    save_npz(path, {**arrays, **curve_arrays, "labels": np.array(names, dtype=np.str_), "test": test}, meta)


def load_checkpoint(
    path: Path, settings: Settings
) -> tuple[ERKLE, list[str], ErrorCurve, dict[str, Any], NDArray[np.int64]]:
    """Learner, names, curve, source and held-out answers; refuses to go on with other settings."""
    arrays, meta = load_npz(path, format=_FORMAT)
    for name, wanted in settings.that_matter().items():
        if meta["settings"].get(name) != wanted:
            raise ValueError(
                f"{path} was made with {name} {meta['settings'].get(name)}, but {wanted} is asked for; "
                "resume with the same settings, or choose another --out."
            )
    try:
        curve = ErrorCurve()
        curve.restore(arrays, meta["curve"])
        learner = unpack(ERKLE, (arrays, meta["learner"]), path.name)
        return learner, arrays["labels"].tolist(), curve, meta["source"], arrays["test"]
    except (KeyError, TypeError, IndexError) as error:
        raise FileError(f"{path.name}: is not a whole checkpoint ({error}); delete it and start again.") from error
