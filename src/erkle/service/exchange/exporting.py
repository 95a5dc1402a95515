"""Answers as files, written row by row, so that memory use does not grow with the study.

The first columns are those of Salmon (head, left, right, winner, loser, puid, sampler, response_time, time_received,
...), and erkle's own columns follow. Tokens and secret ids are left out; participants are numbered in the order in
which they joined.

Participants choose the parameters of their links. Whatever they contain, each answer is one line of the file, and an
import gets the same parameters back.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle.csv_files import csv_rows, csv_text
from erkle.features.array_files import npz_of
from erkle.service.exchange.cells import cell, iso, json_text
from erkle.service.exchange.members import Member, common_parameters, parameter_cells, parameter_columns, roster
from erkle.store import Answer, NotAllowed, Store, Study

_PARTS = ("head", "left", "right", "winner", "loser")
_SALMON = (
    *_PARTS, "puid", "sampler", "response_time", "time_received", "time_received_since_start", "datetime_received",
    *(f"{part}_html" for part in _PARTS), *(f"{part}_filename" for part in _PARTS),
)  # fmt: skip
_OURS = (
    "sequence", "participant", "position", "chosen_side", "kind", "strategy",
    "issued_at", "answered_at", "response_ms", "excluded", "client",
)  # fmt: skip
# Rows written at a time.
_BATCH = 500


def answers_csv(store: Store, study: Study) -> Iterator[str]:
    """Yield the answers of a study as CSV in pieces; answers of excluded participants are marked."""
    columns, rows = answer_table(store, study)
    yield from csv_rows([columns])
    lines = csv_rows([cell(row.get(name)) for name in columns] for row in rows)
    while piece := list(islice(lines, _BATCH)):
        yield "".join(piece)


def answers_jsonl(store: Store, study: Study) -> Iterator[str]:
    """Yield the answers of a study as JSON Lines."""
    _, rows = answer_table(store, study)
    for row in rows:
        yield json_text(row) + "\n"


def answer_table(store: Store, study: Study) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Return the names of the columns, and an iterator over the answers, which have values by column."""
    # The last answer first, then the participants: whoever gave one of these answers has joined by then.
    last, members = store.answers.last(study.id), roster(store, study)
    columns = [*_SALMON, *_OURS, *parameter_columns(_common(members))]
    return columns, _rows(store, study, members, last)


def embedding_csv(names: Sequence[str], X: NDArray[np.float64]) -> str:
    """Return a CSV with the id, the name and the position of each object."""
    header = ["id", "name", *(f"x{i + 1}" for i in range(X.shape[1]))]
    rows = ([number, name, *point] for number, (name, point) in enumerate(zip(names, X.tolist(), strict=True)))
    return csv_text(header, rows)


def features_npz(store: Store, study: Study) -> bytes:
    """Return the features of a study as an NPZ file, with the names of the objects in the array ``names``."""
    blocks, names = store.features.all(study.id), [each.name for each in store.studies.objects(study.id)]
    if not blocks:
        raise NotAllowed("This study has no features; add some first.")
    n_rows = min(len(names), *map(len, blocks.values()))
    return npz_of({name: vectors[:n_rows] for name, vectors in blocks.items()}, names[:n_rows])


def _rows(store: Store, study: Study, members: Mapping[str, Member], last: int) -> Iterator[dict[str, Any]]:
    names, common = [each.name for each in store.studies.objects(study.id)], frozenset(_common(members))
    for answer in store.answers.log(study.id, limit=last, include_excluded=True):
        member = members[answer.participant]
        yield {**_row(answer, names, member, study.created_at), **parameter_cells(member.parameters, common)}


def _common(members: Mapping[str, Member]) -> list[str]:
    return common_parameters(member.parameters for member in members.values())


def _row(answer: Answer, names: Sequence[str], member: Member, start: int) -> dict[str, Any]:
    right = answer.far if answer.left == answer.near else answer.near
    parts = dict(zip(_PARTS, (answer.anchor, answer.left, right, answer.near, answer.far), strict=True))
    shown = {part: names[number] for part, number in parts.items()}
    return {
        **parts,
        "puid": member.puid,
        "sampler": answer.strategy or str(answer.kind),
        "response_time": None if answer.response_ms is None else answer.response_ms / 1000,
        "time_received": answer.answered_at / 1e6,
        "time_received_since_start": (answer.answered_at - start) / 1e6,
        "datetime_received": iso(answer.answered_at),
        **{f"{part}_html": html.escape(name) for part, name in shown.items()},
        **{f"{part}_filename": name for part, name in shown.items()},
        "sequence": answer.sequence,
        "participant": member.number,
        "position": answer.position,
        "chosen_side": "left" if answer.left == answer.near else "right",
        "kind": str(answer.kind),
        "strategy": answer.strategy,
        "issued_at": iso(answer.issued_at),
        "answered_at": iso(answer.answered_at),
        "response_ms": answer.response_ms,
        "excluded": answer.excluded,
        "client": answer.client,
    }
