"""What `erkle data` does: the catalogue on the screen, and data sets from the network to a file."""

import csv
import io
from pathlib import Path

from rich.console import Console
from rich.table import Table

from erkle import triplets
from erkle.cli.facts import repeats, show, some
from erkle.cli.screen import console, warnings_as_sentences
from erkle.datasets import CATALOGUE, Dataset, Entry, load
from erkle.datasets.copies import cache_folder, find, find_in
from erkle.datasets.fetching import fetch
from erkle.files import write_text

__all__ = ["bring", "describe", "list_all"]


def list_all(data: Path | None) -> None:
    """Print a line for each data set."""
    table = Table(box=None, pad_edge=False)
    table.add_column("name")
    table.add_column("objects", justify="right")
    table.add_column("answers", justify="right")
    table.add_column("here")
    table.add_column("what")
    for entry in CATALOGUE.values():
        here = "yes" if find(entry, data) else "no"
        table.add_row(entry.name, f"{entry.n_objects:,}", f"{entry.n_triplets:,}", here, entry.title)
    Console(highlight=False).print(table)


def bring(name: str, data: Path | None, out: Path | None) -> None:
    """Fetch a data set unless there is a copy, check it by reading it, and write it if wanted."""
    entry = _entry(name)
    with warnings_as_sentences():
        found = find_in(entry, data) if data else find(entry)
        copy = found or fetch(entry, data or cache_folder())
        dataset = load(name, data)
    console.print(f"{_size(dataset)}, in {copy.folder}", soft_wrap=True)
    if out is not None:
        write_text(out, _csv(dataset))
        console.print(f"Written to {out}; learn it with: erkle learn {out}", soft_wrap=True)


def describe(name: str, data: Path | None) -> None:
    """Print all that is known of a data set, and of the answers if they are here."""
    entry = _entry(name)
    sources = [source for part in entry.parts for source in part.sources]
    facts = {
        "what": entry.title,
        "published": f"{entry.n_triplets:,} answers about {entry.n_objects:,} objects",
        "notes": entry.notes,
        "source": "\n".join(source.url for source in sources),
        "SHA-256": "\n".join(f"{source.file}: {source.sha256 or 'not known'}" for source in sources),
        "licence": entry.licence,
        "cite": entry.citation,
    }
    copy = find(entry, data)
    if copy is None:
        show(name, facts | {"here": f"no; bring it with: erkle data fetch {name}"})
        return
    with warnings_as_sentences():
        dataset = load(name, data)
    facts |= {"here": str(copy.folder), "names": some(dataset.names), "answers": f"{len(dataset.triplets):,}"}
    show(name, facts | repeats(dataset.triplets) | {"columns": ", ".join(dataset.columns) or "none"})


def _entry(name: str) -> Entry:
    if name not in CATALOGUE:
        raise ValueError(f"There is no data set {name!r}; choose from {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def _size(dataset: Dataset) -> str:
    return f"{len(dataset.triplets):,} answers about {len(dataset.names):,} objects"


def _csv(dataset: Dataset) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("anchor", "near", "far"))
    writer.writerows(triplets.Labels(dataset.names).decode(dataset.triplets).tolist())
    return text.getvalue()
