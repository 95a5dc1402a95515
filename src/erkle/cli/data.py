"""The commands of `erkle data`; what they do is in `catalogue`."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Data sets of people's answers: list, fetch and describe them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A name that [b]erkle data list[/b] shows.")]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with data, by default that of the environment's ERKLE_DATA."),
]


@app.command("list")
def list_(data: Data = None) -> None:
    """List the data sets that can be had by name."""
    from erkle.cli.catalogue import list_all

    list_all(data)


@app.command()
def fetch(
    name: Name,
    data: Annotated[Path | None, typer.Option("--data", help="Folder to fetch to, by default your cache.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the answers to this CSV file, for erkle learn.")] = None,
) -> None:
    """Bring a data set here, unless it is, and write it as a CSV file of names if wanted."""
    from erkle.cli.catalogue import bring

    bring(name, data, out)


@app.command()
def info(name: Name, data: Data = None) -> None:
    """Describe a data set: source, licence, and if it is here, repeats and conflicts."""
    from erkle.cli.catalogue import describe

    describe(name, data)
