"""What `erkle study`, `erkle account` and `erkle backup` do: they work on the data itself, beside a running server."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from erkle.cli.screen import console, counted
from erkle.files import write_atomically
from erkle.service.accounts import passwords
from erkle.service.exchange.bundle import write_bundle
from erkle.service.exchange.exporting import answers_csv, answers_jsonl, embedding_csv
from erkle.service.exchange.importing import add_answers, read_answers, study_of
from erkle.service.exchange.unbundling import import_bundle
from erkle.service.studies.reading import read_study
from erkle.service.web.errors import Problem
from erkle.store import Account, Purpose, State, Store, Study
from erkle.triplets.lines import open_binary

__all__ = [
    "add_account",
    "back_up",
    "change_state",
    "create_study",
    "delete_study",
    "export_study",
    "import_file",
    "link_account",
    "list_accounts",
    "list_studies",
    "opened",
    "set_password",
]

_ZIP = b"PK"
# How the names of files end, the longest first, and what is written to them.
_NAMED = {"embedding.csv": "embedding", ".csv": "csv", ".jsonl": "jsonl", ".npz": "kernel"}
_LEARNED = ("kernel", "embedding")


@contextmanager
def opened(data: Path, database: str | None, new: bool = False) -> Iterator[Store]:
    """The store of a service; that of a folder must be there already, unless it may be new."""
    file = data / "erkle.db"
    if not database and new:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif not database and not file.is_file():
        raise ValueError(f"{data}: has no data of a service; pass its --data, or start one there with erkle serve.")
    with Store(database or file) as store:
        yield store


def create_study(store: Store, file: Path, owner: str | None) -> None:
    """A new study, as a YAML file says."""
    draft = read_study(file)
    settings = draft.settings.model_dump(mode="json")
    _made(store.studies.create(draft.title, draft.objects, settings, owner=_owner(store, owner), media=draft.media))


def list_studies(store: Store) -> None:
    """Print a line for each study."""
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("state")
    for name in ("objects", "answers", "participants"):
        table.add_column(name, justify="right")
    table.add_column("title", overflow="fold")
    for study in store.studies.all():
        counts = store.studies.counts(study.id)
        numbers = (f"{number:,}" for number in (study.n_objects, counts.answers, counts.participants))
        table.add_row(study.id, str(study.state), *numbers, study.title)
    Console(highlight=False, markup=False).print(table)


def export_study(store: Store, study: str, out: Path, form: str | None) -> None:
    """Write the form, or what the name of the file asks for, or a bundle, to a file that is whole or not there."""
    found = store.studies.get(study)
    wanted = form or next((each for end, each in _NAMED.items() if out.name.endswith(end)), "bundle")
    with write_atomically(out) as file:
        if wanted == "bundle":
            write_bundle(store, found, file)
        elif wanted in _LEARNED:
            file.write(_learned(store, found, wanted))
        else:
            for piece in (answers_csv if wanted == "csv" else answers_jsonl)(store, found):
                file.write(piece.encode("utf-8", "replace"))
    console.print(f"{counted(store.answers.last(study), 'answer')} of {found.title} written to {out}.", soft_wrap=True)


def _learned(store: Store, study: Study, wanted: str) -> bytes:
    # Not at the top: this loads the compiled learners.
    from erkle.online import saving
    from erkle.service.learning.whole import folded

    learner = folded(store, study, store.answers.last(study.id)).learner
    names = [each.name for each in store.studies.objects(study.id)]
    if wanted == "kernel":
        return saving.to_bytes(learner, names)
    return embedding_csv(names, learner.embedding(2)).encode("utf-8", "replace")


def import_file(store: Store, file: Path, into: str | None, title: str | None, owner: str | None) -> None:
    """Make a study of a file, or add its answers to one."""
    with open_binary(file) as stream:
        if stream.read(2) == _ZIP:
            if into is not None or title is not None:
                raise ValueError(
                    f"{file.name}: is a bundle, which makes a study of its own; leave --into and --title out."
                )
            _made(import_bundle(store, stream, file.name, owner=_owner(store, owner)))
            return
        stream.seek(0)
        given = read_answers(stream.read(), file.name)
    if into is None:
        _made(study_of(store, given, title or file.stem, owner=_owner(store, owner)))
    else:
        found = store.studies.get(into)
        console.print(f"{counted(add_answers(store, found, given), 'answer')} added to {found.title}.", soft_wrap=True)


def delete_study(store: Store, study: str, sure: bool) -> None:
    """Delete a study, if that is really meant."""
    found, answers = store.studies.get(study), counted(store.answers.last(study), "answer")
    if not sure and not typer.confirm(f"Delete {found.title!r} with {answers}, for ever?"):
        raise ValueError("Nothing was deleted.")
    store.studies.delete(study)
    console.print(f"Deleted {found.title} with {answers}.", soft_wrap=True)


def change_state(store: Store, study: str, state: str) -> None:
    """Open, pause or close a study."""
    found = store.studies.change_state(study, State(state))
    console.print(f"{found.title} is {found.state}.", soft_wrap=True)


def back_up(store: Store, out: Path) -> None:
    """Copy the database as it is at one moment, while a server goes on writing to it."""
    store.back_up(out)
    console.print(f"The data are in {out}; to use them, put the file into a folder as erkle.db.", soft_wrap=True)


def add_account(store: Store, name: str, url: str) -> None:
    """A link by which somebody makes an account."""
    if store.accounts.named(name):
        raise ValueError(f"There is an account {name!r} already; let them in with erkle account link.")
    purpose, page = (Purpose.INVITE, "invited") if store.accounts.all() else (Purpose.SETUP, "setup")
    console.print(f"Give {name} this link. It works once, within a day, and asks for a name and a password:")
    _print_link(f"{url}/{page}#{store.links.create(purpose)}")


def link_account(store: Store, name: str, url: str) -> None:
    """A link that signs somebody in once."""
    found = _account(store, name)
    console.print(f"This link signs in as {found.name}. It works once, within a day:")
    _print_link(f"{url}/enter#{store.links.create(Purpose.ENTER, found.id)}")


def set_password(store: Store, name: str, ask: Callable[[], str]) -> None:
    """A new password for an account that there is."""
    found = _account(store, name)
    try:
        store.accounts.set_password(found.id, passwords.hashed(passwords.welcome(ask(), found.name)))
    except Problem as problem:
        raise ValueError(problem.sentence) from None
    console.print(f"{found.name} has a new password, and must sign in again.")


def list_accounts(store: Store) -> None:
    """Print a line for each account."""
    table = Table(box=None, pad_edge=False)
    for name in ("name", "role", "since"):
        table.add_column(name)
    for account in store.accounts.all():
        since = time.strftime("%Y-%m-%d", time.gmtime(account.created_at / 1e6))
        table.add_row(account.name, "administrator" if account.admin else "researcher", since)
    Console(highlight=False, markup=False).print(table)


def _owner(store: Store, name: str | None) -> str | None:
    """The id of the account with this name, or of the first one."""
    if name is None:
        return next((account.id for account in store.accounts.all()), None)
    return _account(store, name).id


def _account(store: Store, name: str) -> Account:
    found = store.accounts.named(name)
    if found is None:
        known = ", ".join(each.name for each in store.accounts.all()) or "none at all"
        raise ValueError(f"There is no account {name!r}; there are {known}.")
    return found[0]


def _made(study: Study) -> None:
    """Tell people what was made, and programs its id."""
    console.print(
        f"Made {study.title}, about {counted(study.n_objects, 'object')}; it is {study.state}.", soft_wrap=True
    )
    typer.echo(study.id)


def _print_link(link: str) -> None:
    typer.echo(link)
