"""The data of a service, which `erkle study`, `account`, `backup` and `check` work on beside a running server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from erkle.store import Account, Store

Data = Annotated[Path, typer.Option("--data", help="Folder of the service's data.", envvar="ERKLE_SERVER_DATA")]
Database = Annotated[
    str | None,
    typer.Option(
        "--database", help="URL of a PostgreSQL database, in place of the folder.", envvar="ERKLE_SERVER_DATABASE"
    ),
]
HERE = Path("erkle-data")


@contextmanager
def opened(data: Path, database: str | None, new: bool = False) -> Iterator[Store]:
    """The store of a service; that of a folder must be there already, unless it may be new."""
    from erkle.store import Store

    if not database and new:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Store(place(data, database, new)) as store:
        yield store


def place(data: Path, database: str | None, new: bool = False) -> Path | str:
    """The database of a service; the file of a folder must be there already, unless it may be new."""
    file = data / "erkle.db"
    if not (database or new or file.is_file()):
        raise ValueError(f"{data}: has no data of a service; pass its --data, or start one there with erkle serve.")
    return database or file


def account_named(store: Store, name: str) -> Account:
    """The account with this name, or a sentence that lists those that exist."""
    found = store.accounts.named(name)
    if found is None:
        known = ", ".join(each.name for each in store.accounts.all()) or "none at all"
        raise ValueError(f"There is no account {name!r}; there are {known}.")
    return found[0]
