"""`erkle reproduce`: the paper's figures as data, pictures and verdicts."""

from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from erkle.cli.screen import console
from erkle.experiments.curves import Curves
from erkle.experiments.figures import chosen_figures, units_for
from erkle.experiments.protocol import Protocol
from erkle.experiments.report import write_figure, write_page
from erkle.experiments.running import open_folder, run_units
from erkle.experiments.trials import check_data

__all__ = ["reproduce"]


def reproduce(
    names: list[str], protocol: Protocol, n_trials: int, jobs: int, scheduler: str | None, command: str, out: Path
) -> None:
    """Run what is missing, then write tables, pictures and the page."""
    figures = chosen_figures(names, protocol)
    for world in dict.fromkeys(figure.world for figure in figures):
        check_data(world, protocol)
    units = units_for(figures, protocol, n_trials)
    # Workers of a cluster have other working folders than we.
    folder = open_folder(out.resolve(), protocol)
    columns = (
        TextColumn("Running"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[at]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=len(units), at="")
        run_units(units, protocol, folder, jobs, scheduler, lambda unit: bar.update(task, advance=1, at=unit.method))
    curves = Curves(folder, protocol, n_trials)
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
