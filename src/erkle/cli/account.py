"""`erkle account`: accounts of the collection service, created and entered with one-time links."""

import time
from typing import Annotated

import typer

from erkle.cli.screen import console, print_table
from erkle.cli.server_data import HERE, Data, Database, account_named, opened

app = typer.Typer(help="Manage accounts of the collection service with one-time links.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the account.")]
Url = Annotated[
    str, typer.Option("--public-url", help="Public address of the service.", envvar="ERKLE_SERVER_PUBLIC_URL")
]
LOCAL = "http://127.0.0.1:8000"


@app.command()
def add(name: Name, public_url: Url = LOCAL, data: Data = HERE, database: Database = None) -> None:
    """Print a link that creates an account. The first account is an administrator."""
    from erkle.store import Purpose

    with opened(data, database, new=True) as store:
        if store.accounts.named(name):
            raise ValueError(
                f"There is already an account {name!r}; use erkle account link to print a link that signs in."
            )
        purpose, page = (Purpose.INVITE, "invited") if store.accounts.all() else (Purpose.SETUP, "setup")
        token = store.links.create(purpose)
    console.print(f"Send this link to {name}. It works once, within a day, and asks for a name and a password:")
    typer.echo(f"{public_url.rstrip('/')}/{page}#{token}")


@app.command()
def link(name: Name, public_url: Url = LOCAL, data: Data = HERE, database: Database = None) -> None:
    """Print a link that signs in to an account."""
    from erkle.store import Purpose

    with opened(data, database) as store:
        found = account_named(store, name)
        token = store.links.create(Purpose.ENTER, found.id)
    console.print(f"This link signs in as {found.name}. It works once, within a day:")
    typer.echo(f"{public_url.rstrip('/')}/enter#{token}")


@app.command()
def password(name: Name, data: Data = HERE, database: Database = None) -> None:
    """Set a new password and end all sessions of the account."""
    from erkle.service.accounts import passwords

    with opened(data, database) as store:
        found = account_named(store, name)
        wanted = typer.prompt("New password", hide_input=True, confirmation_prompt=True)
        passwords.check_new(wanted, found.name)
        store.accounts.set_password(found.id, passwords.hashed(wanted))
    console.print(f"{found.name} has a new password and must sign in again.")


@app.command("list")
def list_(data: Data = HERE, database: Database = None) -> None:
    """List all accounts."""
    rows = []
    with opened(data, database) as store:
        for account in store.accounts.all():
            since = time.strftime("%Y-%m-%d", time.gmtime(account.created_at / 1e6))
            rows.append([account.name, "administrator" if account.admin else "researcher", since])
    print_table(["name", "role", "since"], rows)
