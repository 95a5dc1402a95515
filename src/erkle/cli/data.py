"""`erkle data`: list, download and describe public data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from erkle.cli.screen import console, numbers, print_table, show_facts, some, warnings_as_sentences

app = typer.Typer(help="List, download and describe public data sets of people's answers.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of a data set, as in [b]erkle data list[/b].")]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with data sets; by default the folder in the environment variable ERKLE_DATA."),
]


@app.command("list")
def list_(data: Data = None) -> None:
    """List the data sets."""
    from erkle.datasets import CATALOGUE
    from erkle.datasets.copies import find

    rows = []
    for entry in CATALOGUE.values():
        here = "yes" if find(entry, data) else "no"
        rows.append([entry.name, f"{entry.n_objects:,}", f"{entry.n_triplets:,}", here, entry.title])
    print_table(["name", *numbers("objects", "answers"), "here", "what"], rows)


@app.command()
def fetch(
    name: Name,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder to download to; by default your cache folder.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV, Parquet or Arrow file to write the answers to, for erkle learn.")
    ] = None,
) -> None:
    """Download a data set, unless it is already here; with --out, also write its answers to a file."""
    from erkle import datasets, triplets
    from erkle.csv_files import csv_text
    from erkle.datasets import copies, fetching
    from erkle.datasets.catalogue import entry_of
    from erkle.files import write_text
    from erkle.triplets.arrow import is_arrow, write_arrow

    entry = entry_of(name)
    with warnings_as_sentences():
        found = copies.find_in(entry, data) if data else copies.find(entry)
        copy = found or fetching.fetch(entry, data or copies.cache_folder())
        # Reading a data set also checks it.
        dataset = datasets.load(name, data)
    size = f"{len(dataset.triplets):,} answers about {len(dataset.names):,} objects"
    console.print(f"{size}, in {copy.folder}", soft_wrap=True)
    if out is not None:
        if is_arrow(out):
            write_arrow(out, dataset.triplets, dataset.names)
        else:
            rows = triplets.Labels(dataset.names).decode(dataset.triplets).tolist()
            write_text(out, csv_text(("anchor", "near", "far"), rows))
        console.print(f"Wrote {out}; learn it with: erkle learn {out}", soft_wrap=True)


@app.command()
def info(name: Name, data: Data = None) -> None:
    """Describe a data set: its source and licence, and if it is here, repeats and conflicts."""
    from erkle.cli.learn.findings import repeats
    from erkle.datasets import load
    from erkle.datasets.catalogue import entry_of
    from erkle.datasets.copies import find

    entry = entry_of(name)
    sources = [source for part in entry.parts for source in part.sources]
    facts = {
        "what": entry.title,
        "published": f"{entry.n_triplets:,} answers about {entry.n_objects:,} objects",
        "notes": entry.notes,
        "source": "\n".join(source.url for source in sources),
        "SHA-256": "\n".join(f"{source.file}: {source.sha256 or 'unknown'}" for source in sources),
        "licence": entry.licence,
        "cite": entry.citation,
    }
    copy = find(entry, data)
    if copy is None:
        show_facts(name, facts | {"here": f"no; download it with: erkle data fetch {name}"})
        return
    with warnings_as_sentences():
        dataset = load(name, data)
    facts |= {"here": str(copy.folder), "names": some(dataset.names), "answers": f"{len(dataset.triplets):,}"}
    show_facts(name, facts | repeats(dataset.triplets) | {"columns": ", ".join(dataset.columns) or "none"})
