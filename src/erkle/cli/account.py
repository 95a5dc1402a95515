"""The commands of `erkle account`; what they do is in `shelf`."""

from typing import Annotated

import typer

from erkle.cli.study import HERE, Data, Database

app = typer.Typer(help="Accounts of the collection service, by links that work once.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the account.")]
Url = Annotated[
    str, typer.Option("--public-url", help="Where the service is reached.", envvar="ERKLE_SERVER_PUBLIC_URL")
]
LOCAL = "http://127.0.0.1:8000"


@app.command()
def add(name: Name, public_url: Url = LOCAL, data: Data = HERE, database: Database = None) -> None:
    """Print a link by which somebody makes an account; the first one is an administrator's."""
    from erkle.cli.server_data import add_account, opened

    with opened(data, database, new=True) as store:
        add_account(store, name, public_url.rstrip("/"))


@app.command()
def link(name: Name, public_url: Url = LOCAL, data: Data = HERE, database: Database = None) -> None:
    """Print a link that signs somebody in."""
    from erkle.cli.server_data import link_account, opened

    with opened(data, database) as store:
        link_account(store, name, public_url.rstrip("/"))


@app.command()
def password(name: Name, data: Data = HERE, database: Database = None) -> None:
    """Set a new password where the old one was forgotten; all sessions of the account end."""
    from erkle.cli.server_data import opened, set_password

    with opened(data, database) as store:
        set_password(store, name, lambda: typer.prompt("New password", hide_input=True, confirmation_prompt=True))


@app.command("list")
def list_(data: Data = HERE, database: Database = None) -> None:
    """List all accounts."""
    from erkle.cli.server_data import list_accounts, opened

    with opened(data, database) as store:
        list_accounts(store)
