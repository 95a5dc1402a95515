"""What a run leaves behind: kernel, coordinates, pictures, error curve and a summary, each written atomically."""

import csv
import io
import json
from typing import NamedTuple

from erkle import __version__, metrics
from erkle.cli.curve import WINDOW, ErrorCurve
from erkle.cli.screen import console, counted, per_cent
from erkle.cli.settings import Settings
from erkle.files import write_text
from erkle.online import ERKLE
from erkle.pictures import errors_figure, map_figure, save

__all__ = ["Report", "write_report"]


class Report(NamedTuple):
    """All that the files are made of."""

    learner: ERKLE
    names: list[str]
    curve: ErrorCurve
    settings: Settings
    source: str
    n_answers: int
    n_test: int


def write_report(report: Report) -> None:
    """Write every file, and say in a few lines what came of it."""
    learner, out = report.learner, report.settings.out
    learner.save(out / "kernel.npz", labels=report.names)
    X = learner.embedding(report.settings.dimensions)
    axes = ["x", "y"] if X.shape[1] == 2 else [f"x{i + 1}" for i in range(X.shape[1])]
    write_text(out / "embedding.csv", _table(["object", *axes], zip(report.names, *X.T.tolist(), strict=True)))
    save(map_figure(learner.embedding(2), report.names), out / "map.png")
    points = report.curve.points
    header = ["answers", "prequential_error", f"error_of_last_{WINDOW}", "test_error"]
    rows = ([int(n), *("" if error != error else error for error in errors)] for n, *errors in points.tolist())
    write_text(out / "errors.csv", _table(header, rows))
    curves = {"all so far": points[:, 1], f"last {WINDOW:,}": points[:, 2], "test": points[:, 3]}
    shown = {name: curve for name, curve in curves.items() if name != "test" or report.n_test}
    save(errors_figure(points[:, 0], shown, "Share of answers predicted wrongly"), out / "errors.png")
    write_text(out / "summary.json", json.dumps(_summary(report), indent=2) + "\n")
    _tell(report)


def _table(header: list[str], rows: object) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)  # type: ignore[arg-type]
    return text.getvalue()


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
        "settings": report.settings.that_matter(),
        "prequential_error": curve.prequential,
        f"error_of_last_{WINDOW}": curve.last,
        "test_error": test_error,
        "n_active": learner.n_active_,
        "n_eigenpairs": learner.n_eigenpairs_,
        "n_projections": learner.n_projections_,
        "kernel_rank": metrics.rank(learner.kernel_),
    }


def _tell(report: Report) -> None:
    learner, curve, out = report.learner, report.curve, report.settings.out
    console.print(f"Learned {counted(curve.n_answers, 'answer')} about {learner.n_objects_:,} objects.")
    recent = f"the last {min(WINDOW, curve.n_answers):,}: {per_cent(curve.last)}"
    console.print(f"Predicted wrongly before learning: {per_cent(curve.prequential)} ({recent})")
    if report.n_test:
        console.print(f"Wrong on {counted(report.n_test, 'test answer')}: {per_cent(curve.points[-1, 3])}")
    console.print(f"Written to {out}: kernel.npz embedding.csv map.png errors.csv errors.png summary.json")
