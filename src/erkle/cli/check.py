"""`erkle check`: check the service's data against the rules that the service relies on."""

import typer

from erkle.cli.server_data import HERE, Data, Database, place


def check(data: Data = HERE, database: Database = None) -> None:
    """Check the data of the service and report what is wrong. Nothing is changed."""
    from erkle.store import check_database

    report = check_database(place(data, database))
    for finding in report.findings:
        typer.echo(f"{report.name}: {finding}")
    if report.findings:
        raise typer.Exit(1)
    *most, last = (f"{number:,} {table}" for table, number in report.counts.items())
    typer.echo(f"{report.name}: no problems found in {', '.join(most)} and {last}.")
