"""The files that `erkle reproduce` writes: tables, pictures, and a page that shows them with the verdicts.

A picture shows the mean of each method with its 95 % interval. The legend has the order of the paper.
"""

from __future__ import annotations

import base64
import html
import platform
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
import scipy

import erkle
from erkle.csv_files import csv_text
from erkle.experiments.claims import CLAIMS, Claim
from erkle.experiments.curves import Curves, MeanCurve
from erkle.experiments.figures import Figure
from erkle.experiments.protocol import Protocol
from erkle.files import write_text
from erkle.pictures import save
from erkle.pictures.style import COLOURS, FAINT, INK, SOFT, new_figure, picture_style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_NAMES = {
    "answers": "answers learned",
    "passes": "passes over the answers",
    "test_error": "test error",
    "train_error": "training error",
    "rank": "rank of the kernel",
    "seconds": "seconds so far",
}
_DASHES = ("-", "--", ":")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #2b2f36; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } img { max-width: 100%; } small { color: #7a808a; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .4rem .6rem; }
tr { border-top: 1px solid #e4e6ea; } .holds { color: #2a7d6b; } .differs { color: #b3541e; }
"""


class Verdict(NamedTuple):
    """A figure, the paper's claims about it, and sentences about settings at the end of their grid."""

    figure: Figure
    claims: list[Claim]
    bounds: list[str]


def write_figure(figure: Figure, curves: Curves, out: Path) -> Verdict:
    """Write the table and the pictures of a figure."""
    header = ["figure", "method", figure.x, figure.y, "half_width_95", "settings_chosen"]
    rows: list[list[str]] = []
    for method in figure.methods:
        curve = curves.of(figure.dataset, method, figure.y, figure.x)
        chosen = "; ".join(" ".join(f"{name}={value:g}" for name, value in each.items()) for each in curve.chosen)
        for x, mean, half in zip(curve.x, curve.mean, curve.half_width, strict=True):
            rows.append([figure.name, method, f"{x:g}", f"{mean:.6g}", f"{half:.3g}", chosen.strip("; ")])
    write_text(out / f"figure-{figure.name}.csv", csv_text(header, rows))
    picture = _draw(figure, curves)
    for suffix in ("png", "svg"):
        save(picture, out / f"figure-{figure.name}.{suffix}")
    bounds = [text for method in figure.methods for text in curves.bounds_chosen(figure.dataset, method)]
    return Verdict(figure, CLAIMS[figure.name](curves), bounds)


def write_page(verdicts: list[Verdict], protocol: Protocol, n_trials: int, command: str, out: Path) -> None:
    """Write one page that contains everything, and the table of verdicts as a Markdown file."""
    rows = [(verdict.figure.name, claim) for verdict in verdicts for claim in verdict.claims]
    body = [
        "<h1>Efficient Online Relative Comparison Kernel Learning, reproduced</h1>",
        f"<p>{html.escape(_environment(protocol, n_trials))} Repeat it with <code>{html.escape(command)}</code>.</p>",
        "<h2>Claims of the paper, and what we measured</h2>",
        "<table><tr><th>figure</th><th>the paper</th><th>measured</th><th></th></tr>",
        *(_html_row(name, claim) for name, claim in rows),
        "</table>",
        *(_html_figure(verdict, out) for verdict in verdicts),
    ]
    page = f"<!doctype html><html lang=en><meta charset=utf-8><title>erkle reproduce</title><style>{_STYLE}</style>"
    write_text(out / "report.html", page + "\n".join(body) + "\n</html>\n")
    write_text(out / "verdicts.md", _markdown(rows))


def _environment(protocol: Protocol, n_trials: int) -> str:
    sizes = ", ".join(f"{name} {value}" for name, value in protocol._asdict().items() if value and name != "name")
    return (
        f"erkle {erkle.__version__}, {n_trials} trial{'s' if n_trials > 1 else ''}, seeds [2015, data set, trial]; "
        f"protocol {protocol.name!r}: {sizes}. {platform.machine()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, Numba {numba.__version__}."
    )


def _html_row(name: str, claim: Claim) -> str:
    verdict = "holds" if claim.holds else "differs"
    remark = f"<br><small>{html.escape(claim.remark)}</small>" if claim.remark else ""
    cells = (html.escape(name), html.escape(claim.paper), html.escape(claim.measured) + remark)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}<td class={verdict}>{verdict}</td></tr>"


def _html_figure(verdict: Verdict, out: Path) -> str:
    figure = verdict.figure
    data = base64.b64encode((out / f"figure-{figure.name}.png").read_bytes()).decode()
    notes = "<br>".join(html.escape(text) for text in (figure.note, *verdict.bounds) if text)
    title = html.escape(f"Figure {figure.name}. {figure.title}")
    return f'<h2>{title}</h2><img alt="{title}" src="data:image/png;base64,{data}"><p><small>{notes}</small></p>'


def _markdown(rows: list[tuple[str, Claim]]) -> str:
    lines = ["| figure | the paper | measured | |", "|---|---|---|---|"]
    for name, claim in rows:
        measured = claim.measured + (f" ({claim.remark})" if claim.remark else "")
        lines.append(f"| {name} | {claim.paper} | {measured} | {'holds' if claim.holds else '**differs**'} |")
    return "\n".join(lines) + "\n"


def _draw(figure: Figure, curves: Curves) -> matplotlib.figure.Figure:
    """Draw a figure."""
    with picture_style():
        picture = new_figure(460, 320)
        axes = picture.add_axes((0.11, 0.14, 0.58, 0.74))
        for i, method in enumerate(figure.methods):
            curve = curves.of(figure.dataset, method, figure.y, figure.x)
            _line(axes, curve, method, COLOURS[i % len(COLOURS)], _DASHES[i // len(COLOURS)])
        if figure.y == "seconds":
            axes.set_yscale("log")
            # The default labels, such as 10², are mathematical text, which our style does not parse.
            axes.yaxis.set_major_formatter("{x:,g}")
            axes.tick_params(which="minor", length=0)
        elif figure.y.endswith("error"):
            axes.set_ylim(0.0, min(1.0, _highest(figure, curves)))
        axes.set_xlabel(_NAMES[figure.x])
        axes.set_ylabel(_NAMES[figure.y])
        axes.grid(axis="y", color=FAINT, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=0)
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=7.5, labelcolor=INK)
        picture.text(0.11, 0.93, f"Figure {figure.name}. {figure.title}", fontsize=9, color=INK, weight="bold")
        if figure.note:
            picture.text(0.11, 0.015, figure.note, fontsize=5.5, color=SOFT)
    return picture


def _line(axes: matplotlib.axes.Axes, curve: MeanCurve, name: str, colour: str, dash: str) -> None:
    few = len(curve.x) <= 12
    axes.plot(
        curve.x, curve.mean, dash, color=colour, linewidth=1.3, label=name, marker="o" if few else None, markersize=2.5
    )
    low, high = curve.mean - curve.half_width, curve.mean + curve.half_width
    axes.fill_between(curve.x, low, high, color=colour, alpha=0.18, linewidth=0)


def _highest(figure: Figure, curves: Curves) -> float:
    """Upper limit of an error axis; it leaves out the first values, where every error starts at 1."""
    heights = []
    for method in figure.methods:
        mean = curves.of(figure.dataset, method, figure.y, figure.x).mean
        heights.append(np.sort(mean)[-1 - len(mean) // 20])
    return float(1.08 * max(heights))
