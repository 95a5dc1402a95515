"""Access to a service's data for `erkle study`, `account`, `backup` and `check`, even while the service runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from erkle.store import Account, Store

T = TypeVar("T")


def one_place(context: typer.Context, value: T) -> T:
    """Refuse --data together with --database, and a --database that is not a URL of PostgreSQL."""
    sources = [context.get_parameter_source(name) for name in ("data", "database")]
    if all(source is not None and source.name == "COMMANDLINE" for source in sources):
        raise ValueError("--data and --database were both given; pass only the place where the data are.")
    if isinstance(value, str) and not value.startswith("postgresql"):
        raise ValueError(f"--database is {value}; pass a URL that starts with postgresql://, or a folder with --data.")
    return value


Data = Annotated[
    Path,
    typer.Option("--data", help="Folder of the service's data.", envvar="ERKLE_SERVER_DATA", callback=one_place),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        help="URL of a PostgreSQL database, instead of a folder.",
        envvar="ERKLE_SERVER_DATABASE",
        callback=one_place,
    ),
]
HERE = Path("erkle-data")


@contextmanager
def opened(data: Path, database: str | None, new: bool = False) -> Iterator[Store]:
    """Open the store of a service. Its database must exist, unless ``new`` is true."""
    from erkle.store import Store

    if not database and new:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Store(place(data, database, new)) as store:
        yield store


def place(data: Path, database: str | None, new: bool = False) -> Path | str:
    """The database of a service: a URL, or a file, which must exist unless ``new`` is true."""
    file = data / "erkle.db"
    if not (database or new or file.is_file()):
        raise ValueError(
            f"{data}: contains no data of a service; pass another --data, or start a service with erkle serve."
        )
    return database or file


def account_named(store: Store, name: str) -> Account:
    """The account with this name; the error for an unknown name lists all accounts."""
    found = store.accounts.named(name)
    if found is None:
        known = ", ".join(each.name for each in store.accounts.all()) or "none"
        raise ValueError(f"There is no account {name!r}; the accounts are: {known}.")
    return found[0]
