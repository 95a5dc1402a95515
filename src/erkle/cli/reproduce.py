"""`erkle reproduce`: the paper's figures as data, pictures and verdicts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from erkle.cli.options import Jobs, Out, check_jobs
from erkle.cli.screen import console, units_bar

if TYPE_CHECKING:
    from erkle.experiments.protocol import Protocol


def reproduce(
    figures: Annotated[list[str] | None, typer.Argument(help="1a 1b 1c 2a 2b 3a 3b 3c 4a 4b, or all.")] = None,
    trials: Annotated[int, typer.Option(help="How often each experiment is repeated; the paper says 10.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, for a look: minutes in place of hours.")] = False,
    mini_batch: Annotated[int | None, typer.Option(help="Answers between two batch fits; the paper says 100.")] = None,
    traces: Annotated[int | None, typer.Option(help="Number of settings each batch method tries.")] = None,
    jobs: Jobs = -1,
    backend: Annotated[str, typer.Option(help="processes, or dask with --scheduler.")] = "processes",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with data sets, in place of ERKLE_DATA.")] = None,
    scenes: Annotated[
        Path | None, typer.Option(help="File of answers for 4a and 4b, in place of the stand-in.")
    ] = None,
    out: Out = Path("erkle-reproduce"),
) -> None:
    """Reproduce figures of the paper: data, pictures and a verdict on each of its claims."""
    from erkle.experiments.protocol import PAPER, QUICK

    if backend not in ("processes", "dask") or (backend == "dask") != (scheduler is not None):
        raise ValueError(f"--backend is {backend!r}; pass processes, or dask together with --scheduler ADDRESS.")
    for name, number in (("trials", trials), ("mini-batch", mini_batch), ("traces", traces)):
        if number is not None and number < 1:
            raise ValueError(f"--{name} is {number}; pass at least 1.")
    check_jobs(jobs)
    if data is not None:
        os.environ["ERKLE_DATA"] = str(data.resolve())
    protocol = QUICK if quick else PAPER
    protocol = protocol._replace(mini_batch=mini_batch or protocol.mini_batch, n_traces=traces or protocol.n_traces)
    if scenes is not None:
        # Workers of a cluster have other working folders than we.
        protocol = protocol._replace(scenes=str(scenes.resolve()))
    command = " ".join(["erkle", *sys.argv[1:]])
    reproduce_figures(figures or [], protocol, trials, jobs, scheduler, command, out)


def reproduce_figures(
    names: list[str], protocol: Protocol, n_trials: int, jobs: int, scheduler: str | None, command: str, out: Path
) -> None:
    """Run what is missing, then write tables, pictures and the page."""
    from erkle.experiments.curves import Curves
    from erkle.experiments.figures import chosen_figures, units_for
    from erkle.experiments.report import write_figure, write_page
    from erkle.experiments.trials import check_data
    from erkle.experiments.units import open_units

    figures = chosen_figures(names, protocol)
    for dataset in dict.fromkeys(figure.dataset for figure in figures):
        check_data(dataset, protocol)
    units = units_for(figures, protocol, n_trials)
    runner = open_units(out, protocol)
    with units_bar("Running", len(units), len(runner.missing(units))) as advance:
        for unit in runner.run(units, jobs, scheduler):
            advance(unit.method)
    curves = Curves(runner, protocol, n_trials)
    verdicts = [write_figure(figure, curves, out) for figure in figures]
    write_page(verdicts, protocol, n_trials, command, out)
    for verdict in verdicts:
        for claim in verdict.claims:
            word, style = ("holds  ", "green") if claim.holds else ("differs", "yellow")
            console.print(f"{verdict.figure.name} {word} {claim.paper}", style=style)
            console.print(f"   {claim.measured}", style="dim")
        for text in verdict.bounds:
            console.print(f"{verdict.figure.name} {text}", style="dim")
    console.print(f"Look at {out / 'report.html'}.", style="bold")
