"""The commands of `erkle study`; what they do is in `shelf`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Studies of the collection service: create, list, export, import and delete.", no_args_is_help=True
)

Id = Annotated[str, typer.Argument(help="The id that [b]erkle study list[/b] shows.")]
Data = Annotated[Path, typer.Option("--data", help="Folder of the service's data.", envvar="ERKLE_SERVER_DATA")]
Database = Annotated[
    str | None,
    typer.Option(
        "--database", help="URL of a PostgreSQL database, in place of the folder.", envvar="ERKLE_SERVER_DATABASE"
    ),
]
HERE = Path("erkle-data")


class Format(StrEnum):
    """What a study is exported as."""

    BUNDLE = "bundle"
    CSV = "csv"
    JSONL = "jsonl"
    KERNEL = "kernel"
    EMBEDDING = "embedding"


@app.command()
def create(
    file: Annotated[Path, typer.Argument(help="YAML file: title, objects (a list, CSV, folder or ZIP) and settings.")],
    owner: Annotated[str | None, typer.Option(help="Account that the study belongs to; by default the first.")] = None,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Create a study, as a draft."""
    from erkle.cli.server_data import create_study, opened

    with opened(data, database, new=True) as store:
        create_study(store, file, owner)


@app.command("list")
def list_(data: Data = HERE, database: Database = None) -> None:
    """List all studies."""
    from erkle.cli.server_data import list_studies, opened

    with opened(data, database) as store:
        list_studies(store)


@app.command()
def export(
    study: Id,
    out: Annotated[Path, typer.Option(help="File to write.")],
    format: Annotated[
        Format | None, typer.Option(help="What to write; without it the name of the file says it, as in kernel.npz.")
    ] = None,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Write a study, its answers or what was learned from them to a file."""
    from erkle.cli.server_data import export_study, opened

    with opened(data, database) as store:
        export_study(store, study, out, format)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A bundle, or a CSV or JSONL file of answers.")],
    into: Annotated[str | None, typer.Option(help="Id of a study that gets the answers of a CSV or JSONL.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the new study of a CSV or JSONL file.")] = None,
    owner: Annotated[str | None, typer.Option(help="Account that the study belongs to; by default the first.")] = None,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Make a study of a bundle or of a file of answers, or add answers to one."""
    from erkle.cli.server_data import import_file, opened

    with opened(data, database, new=True) as store:
        import_file(store, file, into, title, owner)


@app.command()
def delete(
    study: Id,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Delete a study with all its answers, for ever."""
    from erkle.cli.server_data import delete_study, opened

    with opened(data, database) as store:
        delete_study(store, study, yes)


@app.command("open")
def open_(study: Id, data: Data = HERE, database: Database = None) -> None:
    """Ask people from now on."""
    _become("open", study, data, database)


@app.command()
def pause(study: Id, data: Data = HERE, database: Database = None) -> None:
    """Ask nobody until the study is opened again."""
    _become("paused", study, data, database)


@app.command()
def close(study: Id, data: Data = HERE, database: Database = None) -> None:
    """Ask nobody any more; a closed study stays closed."""
    _become("closed", study, data, database)


def _become(state: str, study: str, data: Path, database: str | None) -> None:
    from erkle.cli.server_data import change_state, opened

    with opened(data, database) as store:
        change_state(store, study, state)
