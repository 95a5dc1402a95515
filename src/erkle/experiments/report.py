"""What `erkle reproduce` leaves behind: tidy tables, pictures, and one page that shows them with the verdicts."""

import base64
import html
import platform
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import scipy

import erkle
from erkle.experiments.claims import CLAIMS, Claim
from erkle.experiments.curves import Curves
from erkle.experiments.drawing import draw
from erkle.experiments.figures import Figure
from erkle.experiments.protocol import Protocol
from erkle.files import csv_text, write_text
from erkle.pictures import save

__all__ = ["Verdict", "write_figure", "write_page"]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #2b2f36; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } img { max-width: 100%; } small { color: #7a808a; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .4rem .6rem; }
tr { border-top: 1px solid #e4e6ea; } .holds { color: #2a7d6b; } .differs { color: #b3541e; }
"""


class Verdict(NamedTuple):
    """A figure with what became of the paper's claims about it, and the bounds of settings that were chosen."""

    figure: Figure
    claims: list[Claim]
    bounds: list[str]


def write_figure(figure: Figure, curves: Curves, out: Path) -> Verdict:
    """Table and pictures of a figure."""
    header = ["figure", "method", figure.x, figure.y, "half_width_95", "settings_chosen"]
    rows: list[list[str]] = []
    for method in figure.methods:
        curve = curves.of(figure.world, method, figure.y, figure.x)
        chosen = "; ".join(" ".join(f"{name}={value:g}" for name, value in each.items()) for each in curve.chosen)
        for x, mean, half in zip(curve.x, curve.mean, curve.half_width, strict=True):
            rows.append([figure.name, method, f"{x:g}", f"{mean:.6g}", f"{half:.3g}", chosen.strip("; ")])
    write_text(out / f"figure-{figure.name}.csv", csv_text(header, rows))
    picture = draw(figure, curves)
    for suffix in ("png", "svg"):
        save(picture, out / f"figure-{figure.name}.{suffix}")
    bounds = [text for method in figure.methods for text in curves.bounds_chosen(figure.world, method)]
    return Verdict(figure, CLAIMS[figure.name](curves), bounds)


def write_page(verdicts: list[Verdict], protocol: Protocol, n_trials: int, command: str, out: Path) -> None:
    """One page with everything in it, and the table of verdicts as Markdown beside it."""
    rows = [(verdict.figure.name, claim) for verdict in verdicts for claim in verdict.claims]
    body = [
        "<h1>Efficient Online Relative Comparison Kernel Learning, reproduced</h1>",
        f"<p>{html.escape(_circumstances(protocol, n_trials))} Repeated by <code>{html.escape(command)}</code>.</p>",
        "<h2>What the paper says, and what we measured</h2>",
        "<table><tr><th>figure</th><th>the paper</th><th>measured</th><th></th></tr>",
        *(_html_row(name, claim) for name, claim in rows),
        "</table>",
        *(_html_figure(verdict, out) for verdict in verdicts),
    ]
    page = f"<!doctype html><html lang=en><meta charset=utf-8><title>erkle reproduce</title><style>{_STYLE}</style>"
    write_text(out / "report.html", page + "\n".join(body) + "\n</html>\n")
    write_text(out / "verdicts.md", _markdown(rows))


def _circumstances(protocol: Protocol, n_trials: int) -> str:
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
