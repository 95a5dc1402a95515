"""`erkle info`: describe an answer file, a file of features or a saved learner."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from erkle.cli.screen import checking_bar, counted, per_cent, show_facts, some

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from erkle.features.reading import FeatureFile
    from erkle.online.models.base import Model
    from erkle.online.selection.candidates import Candidate

# Most answers in which repeats are counted, because counting them needs all answers in memory.
_MOST_SORTED = 5_000_000
# Questions listed under "most disputed".
_MOST_DISPUTED = 5


def info(
    file: Annotated[Path, typer.Argument(help="Answer file or folder, file of features or kernel.npz.")],
) -> None:
    """Describe an answer file (objects, repeats, conflicts), features, or what a saved learner has learned."""
    from erkle.features.table_files import is_feature_file

    if is_feature_file(file):
        show_facts(file.name, _feature_facts(file))
    else:
        show_facts(file.name, _kernel_facts(file) if file.suffix == ".npz" else _answer_facts(file))


def _feature_facts(path: Path) -> dict[str, str]:
    from erkle.features.reading import read_features

    found = read_features(path)
    facts = {
        "objects": f"{found.n_rows:,}",
        "names": some(found.names) if found.names else "none; erkle learn needs --objects with one object per row",
    }
    return facts | {f"features {name}": _block_facts(found, name) for name in found.blocks}


def _block_facts(found: FeatureFile, name: str) -> str:
    """The size of a block, what is missing in it, and whether `erkle learn` can use it."""
    import numpy as np

    from erkle.features import Features

    vectors = found.blocks[name]
    missing = np.isnan(vectors).all(axis=1)
    said = [counted(vectors.shape[1], "column")]
    if missing.any():
        said.append(f"{missing.sum():,} of {counted(len(vectors), 'object')} without a vector")
    try:
        said.append(f"{Features.of({name: vectors}, len(vectors)).axes.shape[1]:,} principal axes")
    except ValueError as error:
        said.append(f"of no use: {error}")
    return ", ".join(said)


def _kernel_facts(path: Path) -> dict[str, str]:
    """Facts from the file itself, so that a learner with a custom loss can also be described."""
    from erkle.files import FileError
    from erkle.npz_files import load_npz

    arrays, meta = load_npz(path)
    try:
        return _facts(path, arrays, meta)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as error:
        raise FileError(f"{path.name}: is not a complete learner ({error}); restore it from a backup.") from error


def _facts(path: Path, arrays: dict[str, Any], meta: dict[str, Any]) -> dict[str, str]:
    from erkle.cli.learn.findings import calibration, estimate, how_people_answer
    from erkle.files import FileError
    from erkle.npz_files import under
    from erkle.online.forecast import forecast
    from erkle.online.models import unpack_model
    from erkle.online.record import Curve, Record

    if meta.get("kind") != "ERKLE":
        raise FileError(f"{path.name}: contains no learner; pass a kernel.npz written by `erkle learn` or ERKLE.save.")
    model = unpack_model(arrays, meta)
    names = arrays["labels"].tolist() if "labels" in arrays else None
    n_learned, n_mistakes = meta["n_triplets_seen"], meta["n_mistakes"]
    record = Record.from_arrays(under("record", arrays), model.kernel.n_objects)
    evidence = model.evidence
    ahead = forecast(Curve.of_bins(record.bins), model.kernel.n_objects, n_learned, evidence.lapse.low)
    people = how_people_answer(evidence.answer_model, evidence.lapse, n_learned)
    return {
        "objects": f"{model.kernel.n_objects:,}",
        "names": some(names) if names else "none saved",
        "answers learned": f"{n_learned:,}",
        "wrong predictions before learning": per_cent(n_mistakes / n_learned) if n_learned else "nothing learned yet",
        "confidence": calibration(evidence.reliability()),
        **({"people": people} if people else {}),
        **_participant_facts(arrays, evidence.lapse.rate),
        "more answers": estimate(ahead),
        **_kind_of_facts(model, arrays),
        **_learned_feature_facts(model),
        "learned with": _settings(meta),
        **_conflict_facts(arrays["history"], names),
    }


def _participant_facts(arrays: dict[str, Any], lapse: float) -> dict[str, str]:
    """Who answers at random, if the learner knows its participants; ``lapse`` is that of the study."""
    from erkle.cli.learn.participants import at_random
    from erkle.npz_files import under
    from erkle.online.participants import Participants

    lapses = Participants.from_arrays(under("participants", arrays)).table(lapse)
    return {"participants": at_random(lapses)} if len(lapses.names) else {}


def _kind_of_facts(model: Model, arrays: dict[str, Any]) -> dict[str, str]:
    """Facts that depend on the kind of learner: the updates of a single kernel, or the choice among candidates."""
    from erkle import metrics
    from erkle.cli.learn.findings import choice, is_choice
    from erkle.kernels.dense import DenseKernel
    from erkle.kernels.low_rank import LowRankKernel
    from erkle.online.models import Single

    if isinstance(model, Single):
        rank = {"rank": str(model.kernel.rank)} if isinstance(model.kernel, LowRankKernel) else {}
        if isinstance(model.kernel, DenseKernel) and "kernel" in arrays:
            rank = {"rank": str(metrics.rank(arrays["kernel"]))}
        n_active, n_certified, n_eigenpairs, n_projections = model.kernel.counters
        updates = (
            f"{n_active:,}, of which {n_projections:,} projected "
            f"({n_eigenpairs:,} eigenpairs computed, {n_certified:,} updates certified without one)"
        )
        return {"updates": updates, **rank}
    selection = model.selection()
    if not is_choice(selection):
        return {}
    lines = [f"{candidate.described()}: {_performance(candidate)}" for candidate in selection if candidate.weight]
    return {"chosen": choice(selection), "in use": "\n".join(lines)}


def _learned_feature_facts(model: Model) -> dict[str, str]:
    """The features that the learner knows, and what they are worth."""
    from erkle.online.models import Refitting

    if not isinstance(model, Refitting) or model.features is None:
        return {}
    n_objects = f"{model.n_objects:,} objects"
    lines = [
        f"{block.name}: {counted(len(block.mean), 'column')}, {block.axes.shape[1]} principal axes, "
        f"{int(known.sum()):,} of {n_objects} with a vector"
        for block, known in zip(model.features.blocks, model.features.known.T, strict=True)
    ]
    return {"features": "\n".join(lines), "worth": "\n".join(map(str, model.worth()))}


def _performance(candidate: Candidate) -> str:
    error = "not compared yet" if math.isnan(candidate.error) else f"{per_cent(candidate.error)} wrong"
    return f"weight {candidate.weight:.2f}, {error}"


def _settings(meta: dict[str, Any]) -> str:
    from erkle.online.saving import description, kernel_from
    from erkle.online.settings import DEFAULT_RULE

    kernel = kernel_from(meta["kernel"])
    words = [f"{name} {value}" for name, value in kernel._asdict().items() if value is not None]
    passes = f"passes {meta['parameters']['passes']}"
    if not kernel.follows_rule:
        return ", ".join([*words, passes])
    loss, step, _ = DEFAULT_RULE
    rule = (meta["loss"] or description(loss), meta["step"] or description(step))
    parts = [f"{name}({', '.join(f'{field:g}' for field in fields)})" for name, *fields in rule]
    direction = meta["parameters"]["direction"] or "canonical"
    return ", ".join([*words, *parts, f"direction {direction}", passes])


def _conflict_facts(history: NDArray[np.int32], names: list[str] | None) -> dict[str, str]:
    from erkle.conflicts import find

    if not len(history):
        return {}
    found = find(history, n_worst=_MOST_DISPUTED)
    return {"conflicts": found.sentence(), "most disputed": "\n".join(found.disputed(names)) or "none"}


def _answer_facts(path: Path) -> dict[str, str]:
    import numpy as np

    from erkle.cli.learn.findings import repeats
    from erkle.triplets import Reader

    n_answers, kept = 0, []
    with Reader(path) as reader, checking_bar(path.name, reader.size) as bar:
        for chunk in reader:
            n_answers += len(chunk.triplets)
            if n_answers <= _MOST_SORTED:
                kept.append(chunk.triplets.astype(np.int32))
            bar.update(bar.task_ids[0], completed=chunk.end_offset)
        names = reader.labels.names
    facts = {"objects": f"{len(names):,}", "names": some(names), "answers": f"{n_answers:,}"}
    return facts | (
        repeats(np.concatenate(kept))
        if n_answers <= _MOST_SORTED
        else {"repeats": f"not counted in more than {_MOST_SORTED:,} answers"}
    )
