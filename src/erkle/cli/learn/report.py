"""The results of a run: kernel, coordinates, pictures, tables and a summary. Each file is written atomically."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle import __version__
from erkle.cli.learn.curve import WINDOW, ErrorCurve
from erkle.cli.learn.findings import (
    calibration,
    choice,
    estimate,
    findings,
    how_people_answer,
    is_choice,
    selection_table,
)
from erkle.cli.learn.map_quality import MapQuality
from erkle.cli.learn.participants import Comparison
from erkle.cli.learn.settings import Settings
from erkle.cli.screen import console, counted, per_cent
from erkle.conflicts import Conflicts
from erkle.csv_files import csv_text
from erkle.features import Features
from erkle.files import write_text
from erkle.online import ERKLE
from erkle.pictures import errors_figure, map_figure, reliability_figure, save

# In the order in which they are listed. Not every run writes the last two.
_FILES = (
    "kernel.npz",
    "embedding.csv",
    "map.png",
    "errors.csv",
    "errors.png",
    "reliability.png",
    "summary.json",
    "selection.csv",
    "participants.csv",
)


class Report(NamedTuple):
    """Everything the files are written from."""

    learner: ERKLE
    names: list[str]
    curve: ErrorCurve
    settings: Settings
    source: str
    n_answers: int
    n_test: int
    map_quality: MapQuality
    conflicts: Conflicts | None
    participants: Comparison | None


def write_report(report: Report) -> None:
    """Write every file, and print a short summary."""
    learner, out = report.learner, report.settings.out
    learner.save(out / "kernel.npz", labels=report.names)
    X = learner.embedding(max(2, report.settings.dimensions))
    _write_coordinates(report, X[:, : report.settings.dimensions])
    unknown = learner.n_appearances_ == 0
    save(map_figure(X[:, :2], report.names, note=report.map_quality.caption, grey=unknown), out / "map.png")
    _write_errors(report)
    save(
        reliability_figure(*learner.reliability_, title="How sure it was, and how often it was right"),
        out / "reliability.png",
    )
    for name in _FILES[-2:]:
        # Remove the file of an earlier run.
        (out / name).unlink(missing_ok=True)
    if is_choice(learner.selection_):
        write_text(out / "selection.csv", csv_text(*selection_table(learner.selection_)))
    if report.participants:
        write_text(out / "participants.csv", csv_text(*report.participants.table()))
    write_text(out / "summary.json", json.dumps(_summary(report), indent=2) + "\n")
    _print(report)


def _write_coordinates(report: Report, X: NDArray[np.float64]) -> None:
    axes = ["x", "y"] if X.shape[1] == 2 else [f"x{i + 1}" for i in range(X.shape[1])]
    rows = zip(report.names, *X.T.tolist(), strict=True)
    write_text(report.settings.out / "embedding.csv", csv_text(["object", *axes], rows))


def _write_errors(report: Report) -> None:
    points, out = report.curve.points, report.settings.out
    header = ["answers", "prequential_error", f"error_of_last_{WINDOW}", "test_error"]
    rows = ([int(n), *("" if error != error else error for error in errors)] for n, *errors in points.tolist())
    write_text(out / "errors.csv", csv_text(header, rows))
    curves = {"all so far": points[:, 1], f"last {WINDOW:,}": points[:, 2], "test": points[:, 3]}
    shown = {name: curve for name, curve in curves.items() if name != "test" or report.n_test}
    save(errors_figure(points[:, 0], shown, "Share of answers predicted wrongly"), out / "errors.png")


def _summary(report: Report) -> dict[str, object]:
    learner, curve = report.learner, report.curve
    test_error = curve.points[-1, 3] if report.n_test and len(curve.points) else None
    return {
        "erkle": __version__,
        "answers_from": report.source,
        "n_objects": learner.n_objects_,
        "n_answers": report.n_answers,
        "n_learned": learner.n_triplets_seen_,
        "n_test": report.n_test,
        "settings": report.settings.learning_settings(),
        "prequential_error": curve.prequential,
        f"error_of_last_{WINDOW}": curve.last,
        "test_error": test_error,
        **findings(learner, report.conflicts),
        **_counters(learner),
        "kernel_rank": report.map_quality.n_dimensions,
        "map_error": report.map_quality.map_error,
    }


def _counters(learner: ERKLE) -> dict[str, int]:
    """The counters of a learner that has one kernel from beginning to end."""
    return learner.counters_._asdict() if learner.kernel.follows_rule else {}


def _print(report: Report) -> None:
    learner, curve, out = report.learner, report.curve, report.settings.out
    console.print(f"Learned {counted(curve.n_answers, 'answer')} about {learner.n_objects_:,} objects.")
    recent = f"of the last {curve.n_last:,}: {per_cent(curve.last)}"
    console.print(f"Wrong predictions before learning: {per_cent(curve.prequential)} ({recent}).")
    if report.n_test:
        console.print(f"Wrong predictions on {counted(report.n_test, 'test answer')}: {per_cent(curve.points[-1, 3])}.")
    if is_choice(learner.selection_):
        console.print(f"Chosen: {choice(learner.selection_)}.")
    for worth in learner.features_:
        console.print(f"Features: {worth}")
    console.print(f"Confidence of the predictions: {calibration(learner.reliability_)}.")
    if people := how_people_answer(learner.answer_model_, learner.lapse_, learner.n_triplets_seen_):
        console.print(people)
    console.print(estimate(learner.answers_needed()))
    if report.conflicts:
        console.print(report.conflicts.sentence())
    if about_map := report.map_quality.sentence():
        console.print(about_map)
    for sentence in _unlearned(report):
        console.print(sentence, style="yellow")
    for sentence, is_warning in report.participants.sentences() if report.participants else ():
        console.print(sentence, style="yellow" if is_warning else "")
    console.print(f"Written to {out}: {' '.join(name for name in _FILES if (out / name).exists())}")


def _unlearned(report: Report) -> Iterator[str]:
    """What the places of objects mean that occur in no learned answer: those with features and the others."""
    learner = report.learner
    unknown = learner.n_appearances_ == 0
    described = np.zeros(len(unknown), np.bool_)
    if isinstance(learner.features, Features):
        known = np.asarray(learner.features.known.any(axis=1))
        described[: len(known)] = known
    n_objects = counted(learner.n_objects_, "object")
    for some, meaning in ((unknown & ~described, "means nothing"), (unknown & described, "comes from features alone")):
        if n := int(some.sum()):
            occur, place = ("occurs", "its place") if n == 1 else ("occur", "their place")
            yield f"{n:,} of {n_objects} {occur} in no learned answer; {place} on the map (grey) {meaning}."
