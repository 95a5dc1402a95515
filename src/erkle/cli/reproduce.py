"""`erkle reproduce`: reproduce the figures of the paper and check its claims."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from erkle.cli.options import Jobs, Out, Scheduler, check_backend, check_jobs
from erkle.cli.screen import console, units_bar

if TYPE_CHECKING:
    from erkle.experiments.protocol import Protocol


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Figures to reproduce: 1a 1b 1c 2a 2b 3a 3b 3c 4a 4b, or all.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Repetitions of each experiment; 10 in the paper.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="Use small sizes: takes minutes instead of hours.")] = False,
    mini_batch: Annotated[int | None, typer.Option(help="Answers between two batch fits; 100 in the paper.")] = None,
    traces: Annotated[int | None, typer.Option(help="Number of trace weights that each batch method tries.")] = None,
    jobs: Jobs = -1,
    backend: Annotated[str, typer.Option(help="Where to compute: processes, or dask with --scheduler.")] = "processes",
    scheduler: Scheduler = None,
    data: Annotated[Path | None, typer.Option(help="Folder with data sets; overrides ERKLE_DATA.")] = None,
    scenes: Annotated[
        Path | None, typer.Option(help="Answer file for figures 4a and 4b; by default the data set zappos85.")
    ] = None,
    out: Out = Path("erkle-reproduce"),
) -> None:
    """Reproduce figures of the paper: data, pictures, and whether each claim holds."""
    from erkle.experiments.protocol import PAPER, QUICK

    check_backend(backend, scheduler, "processes")
    for name, number in (("trials", trials), ("mini-batch", mini_batch), ("traces", traces)):
        if number is not None and number < 1:
            raise ValueError(f"--{name} is {number}; pass at least 1.")
    check_jobs(jobs)
    if scenes is not None and figures and not {"4a", "4b", "all"} & set(figures):
        raise ValueError("--scenes was given without the figures 4a or 4b, the only ones that use it; leave it out.")
    if data is not None:
        os.environ["ERKLE_DATA"] = str(data.resolve())
    protocol = QUICK if quick else PAPER
    protocol = protocol._replace(mini_batch=mini_batch or protocol.mini_batch, n_traces=traces or protocol.n_traces)
    if scenes is not None:
        # Workers of a cluster have other working directories.
        protocol = protocol._replace(scenes=str(scenes.resolve()))
    command = " ".join(["erkle", *sys.argv[1:]])
    reproduce_figures(figures or [], protocol, trials, jobs, scheduler, command, out)


def reproduce_figures(
    names: list[str], protocol: Protocol, n_trials: int, jobs: int, scheduler: str | None, command: str, out: Path
) -> None:
    """Run the experiments that are missing, then write tables, pictures and the report."""
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
    console.print(f"The report is in {out / 'report.html'}.", style="bold")
