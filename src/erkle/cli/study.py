"""`erkle study`: create, change, export, import and delete studies of the collection service."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column

from erkle.cli.screen import console, counted, numbers, print_table
from erkle.cli.server_data import HERE, Data, Database, account_named, opened

if TYPE_CHECKING:
    from erkle.store import Store, Study, Transaction

app = typer.Typer(
    help="Create, list, export, import and delete studies of the collection service.", no_args_is_help=True
)

Id = Annotated[str, typer.Argument(help="Id of the study, as in [b]erkle study list[/b].")]
Owner = Annotated[str | None, typer.Option(help="Account that owns the study; by default the first account.")]


class Format(StrEnum):
    """Format of an exported study."""

    BUNDLE = "bundle"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    KERNEL = "kernel"
    EMBEDDING = "embedding"
    PARTICIPANTS = "participants"
    FEATURES = "features"


# First bytes of a ZIP file.
_ZIP = b"PK"
# Formats by the end of the file name; the first that fits is used.
_NAMED = {
    "embedding.csv": Format.EMBEDDING,
    "participants.csv": Format.PARTICIPANTS,
    ".csv": Format.CSV,
    ".jsonl": Format.JSONL,
    ".parquet": Format.PARQUET,
    "features.npz": Format.FEATURES,
    ".npz": Format.KERNEL,
}


@app.command()
def create(
    file: Annotated[
        Path, typer.Argument(help="YAML file: title, objects (a list, CSV, folder or ZIP), features and settings.")
    ],
    owner: Owner = None,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Create a study. It starts as a draft."""
    from erkle.service.studies.editing import created
    from erkle.service.studies.reading import read_study

    with opened(data, database, new=True) as store:
        draft = read_study(file)
        study = created(store, draft, _owner(store, owner))
        _show(draft.features.notes)
        _report(study)


@app.command()
def add(
    study: Id,
    objects: Annotated[Path, typer.Argument(help="CSV or text file of new objects, a folder or a ZIP of files.")],
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]FILE", help="File with features of the new objects. May be repeated."),
    ] = None,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Add objects to a study that is not closed, also while people answer."""
    from erkle.cli.features import read_files
    from erkle.service.studies.additions import add_objects, read_named

    with opened(data, database) as store:
        found = store.studies.get(study)
        added = add_objects(store, found, read_named(store, found, objects), read_files(features or []))
    _show(added.notes)
    n_new = counted(added.study.n_objects - found.n_objects, "object")
    console.print(f"Added {n_new} to {found.title}.", soft_wrap=True)


@app.command()
def features(
    study: Id,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=]FILE...", help="Files of features to add: CSV, Parquet, NPZ or NPY."),
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(help="Name of features to remove. May be repeated.")] = None,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Add features to a study, remove some, and list what it has."""
    from erkle.cli.features import read_files
    from erkle.service.studies.features import FeaturesOut, check_useful, described

    with opened(data, database) as store:
        found = store.studies.get(study)
        names = [each.name for each in store.studies.objects(study)]
        given = described(read_files(files or []), names)
        check_useful(given.blocks)

        def change(transaction: Transaction) -> None:
            for name in remove or []:
                transaction.features.remove(study, name)
            if given.blocks:
                transaction.features.add(study, given.blocks, names)

        store.transact(change)
        _show(given.notes)
        rows = [
            [each.name, f"{each.n_columns:,}", f"{each.n_objects:,} of {found.n_objects:,}"]
            for each in FeaturesOut.of(store.features.all(study))
        ]
    print_table([Column("features", overflow="fold"), *numbers("columns", "objects")], rows)


@app.command("list")
def list_(data: Data = HERE, database: Database = None) -> None:
    """List all studies."""
    rows = []
    with opened(data, database) as store:
        for study in store.studies.all():
            counts = store.studies.counts(study.id)
            sizes = (f"{number:,}" for number in (study.n_objects, counts.answers, counts.participants))
            rows.append([study.id, str(study.state), *sizes, study.title])
    id_, title = Column("id", no_wrap=True), Column("title", overflow="fold")
    print_table([id_, "state", *numbers("objects", "answers", "participants"), title], rows)


@app.command()
def export(
    study: Id,
    out: Annotated[Path, typer.Option(help="File to write.")],
    format: Annotated[
        Format | None, typer.Option(help="Format; by default chosen by the file name, as in kernel.npz.")
    ] = None,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Export a study, its answers, its participants, or what was learned."""
    from erkle.files import write_atomically
    from erkle.service.exchange.answers_parquet import answers_parquet
    from erkle.service.exchange.bundle import write_bundle
    from erkle.service.exchange.exporting import answers_csv, answers_jsonl, features_npz

    wanted = format or next((each for end, each in _NAMED.items() if out.name.endswith(end)), Format.BUNDLE)
    with opened(data, database) as store:
        found = store.studies.get(study)
        with write_atomically(out) as file:
            if wanted is Format.BUNDLE:
                write_bundle(store, found, file)
            elif wanted is Format.PARQUET:
                answers_parquet(store, found, file)
            elif wanted in (Format.KERNEL, Format.EMBEDDING):
                file.write(_learned(store, found, wanted))
            elif wanted is Format.PARTICIPANTS:
                file.write(_participants(store, found))
            elif wanted is Format.FEATURES:
                file.write(features_npz(store, found))
            else:
                for piece in (answers_csv if wanted is Format.CSV else answers_jsonl)(store, found):
                    file.write(piece.encode("utf-8", "replace"))
        answers = counted(store.answers.last(study), "answer")
    what = {
        Format.BUNDLE: f"{found.title} with {answers}",
        Format.CSV: f"{answers} of {found.title}",
        Format.JSONL: f"{answers} of {found.title}",
        Format.PARQUET: f"{answers} of {found.title}",
        Format.KERNEL: f"the kernel of {found.title}",
        Format.EMBEDDING: f"the map of {found.title}",
        Format.PARTICIPANTS: f"the participants of {found.title}",
        Format.FEATURES: f"the features of {found.title}",
    }
    console.print(f"Wrote {what[wanted]} to {out}.", soft_wrap=True)


def _learned(store: Store, study: Study, wanted: Format) -> bytes:
    """The contents of a kernel.npz or an embedding.csv."""
    from erkle.service.exchange.exporting import embedding_csv
    from erkle.service.learning.full_log import embedding, kernel_npz

    if wanted is Format.KERNEL:
        return kernel_npz(store, study)
    names = [each.name for each in store.studies.objects(study.id)]
    return embedding_csv(names, embedding(store, study)).encode("utf-8", "replace")


def _participants(store: Store, study: Study) -> bytes:
    """The contents of a participants.csv."""
    from erkle.service.dashboard.participants.rows import rows_of_log
    from erkle.service.exchange.participants_csv import participants_csv

    return participants_csv(rows_of_log(store, study)).encode("utf-8", "replace")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A bundle, or a CSV or JSONL file of answers.")],
    into: Annotated[
        str | None, typer.Option(help="Id of an existing study to add the answers of a CSV or JSONL file to.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the new study, if the file is CSV or JSONL.")] = None,
    owner: Owner = None,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Create a study from a bundle or an answer file, or add answers to an existing study."""
    if into is not None and (title is not None or owner is not None):
        raise ValueError(
            "--into adds answers to an existing study, which keeps its title and owner; omit --title and --owner."
        )
    from erkle.files import open_binary
    from erkle.service.exchange.importing import add_answers, read_answers, study_of
    from erkle.service.exchange.unbundling import import_bundle

    with opened(data, database, new=True) as store, open_binary(file) as stream:
        if stream.read(2) == _ZIP:
            if into is not None or title is not None:
                raise ValueError(
                    f"{file.name}: is a bundle, which creates a study with its title; omit --into and --title."
                )
            _report(import_bundle(store, stream, file.name, owner=_owner(store, owner)))
            return
        given = read_answers(stream, file.name)
        if into is None:
            _report(study_of(store, given, title or file.stem, owner=_owner(store, owner)))
            return
        found = store.studies.get(into)
        added = counted(add_answers(store, found, given), "answer")
    console.print(f"Added {added} to {found.title}.", soft_wrap=True)


@app.command()
def delete(
    study: Id,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Delete a study with all its answers. This cannot be undone."""
    with opened(data, database) as store:
        found, answers = store.studies.get(study), counted(store.answers.last(study), "answer")
        if not yes and not typer.confirm(f"Delete {found.title!r} with {answers}? This cannot be undone."):
            raise ValueError("Nothing was deleted.")
        store.studies.delete(study)
    console.print(f"Deleted {found.title} with {answers}.", soft_wrap=True)


@app.command()
def key(
    study: Id,
    new: Annotated[
        bool, typer.Option("--new", help="Replace the key; links signed with the old one stop working.")
    ] = False,
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Print the secret with which links to a study are signed."""
    with opened(data, database) as store:
        typer.echo(store.studies.renew_signing_key(study) if new else store.studies.signing_key(study))


@app.command("open")
def open_(study: Id, data: Data = HERE, database: Database = None) -> None:
    """Open a study for participants."""
    _change_state(study, "open", data, database)


@app.command()
def pause(study: Id, data: Data = HERE, database: Database = None) -> None:
    """Pause a study until it is opened again."""
    _change_state(study, "paused", data, database)


@app.command()
def close(study: Id, data: Data = HERE, database: Database = None) -> None:
    """Close a study. A closed study cannot be opened again."""
    _change_state(study, "closed", data, database)


def _change_state(study: str, state: str, data: Path, database: str | None) -> None:
    from erkle.service.studies import editing
    from erkle.store import State

    with opened(data, database) as store:
        found = editing.change_state(store, study, State(state))
    console.print(f"{found.title} is {found.state}.", soft_wrap=True)


def _show(notes: list[str]) -> None:
    for sentence in notes:
        console.print(sentence, style="yellow", soft_wrap=True)


def _owner(store: Store, name: str | None) -> str | None:
    """The id of the account with this name, or of the first one."""
    if name is None:
        return next((account.id for account in store.accounts.all()), None)
    return account_named(store, name).id


def _report(study: Study) -> None:
    """Describe a new study on standard error, and print its id on standard output for scripts."""
    console.print(
        f"Created {study.title} with {counted(study.n_objects, 'object')}; its state is {study.state}.", soft_wrap=True
    )
    typer.echo(study.id)
