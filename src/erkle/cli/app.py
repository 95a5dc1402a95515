"""The `erkle` command with all its subcommands; each of them is in its own module."""

from typing import Annotated

import typer

from erkle.cli import account, data, study
from erkle.cli.backup import backup
from erkle.cli.check import check
from erkle.cli.demo import demo
from erkle.cli.info import info
from erkle.cli.learn.command import learn
from erkle.cli.place import place
from erkle.cli.reproduce import reproduce
from erkle.cli.serve import serve
from erkle.cli.simulate import simulate

app = typer.Typer(
    help="Learn how similar objects are from answers to one question: is A more like B or more like C?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (learn, demo, info, place, reproduce, simulate, serve, backup, check):
    app.command()(command)
app.add_typer(data.app, name="data")
app.add_typer(study.app, name="study")
app.add_typer(account.app, name="account")


def _show_version(wanted: bool) -> None:
    if wanted:
        from erkle import __version__

        typer.echo(f"erkle {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
