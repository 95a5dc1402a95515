"""`erkle backup`: copy the service's data while the service runs."""

from pathlib import Path
from typing import Annotated

import typer

from erkle.cli.screen import console
from erkle.cli.server_data import HERE, Data, Database, opened


def backup(
    file: Annotated[Path, typer.Argument(help="File to write the copy to.")],
    data: Data = HERE,
    database: Database = None,
) -> None:
    """Copy the data of the service to a file. The copy is consistent even while the service runs."""
    with opened(data, database) as store:
        store.back_up(file)
    console.print(
        f"Copied the data to {file}. "
        "To restore them, stop the server and put the file into an empty folder as erkle.db.",
        soft_wrap=True,
    )
