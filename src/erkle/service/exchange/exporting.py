"""Answers as files, written row by row, so that memory use does not grow with the study.

The first columns are those of Salmon (head, left, right, winner, loser, puid, sampler, response_time, time_received,
...), and erkle's own columns follow. Tokens and secret ids are left out; participants are numbered in the order in
which they joined.

Participants choose the parameters of their links. Whatever they contain, each answer is one line of the file, and an
import gets the same parameters back.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.csv_files import csv_rows, csv_text
from erkle.store import Answer, Store, Study

_PARTS = ("head", "left", "right", "winner", "loser")
_SALMON = (
    *_PARTS, "puid", "sampler", "response_time", "time_received", "time_received_since_start", "datetime_received",
    *(f"{part}_html" for part in _PARTS), *(f"{part}_filename" for part in _PARTS),
)  # fmt: skip
_OURS = (
    "sequence", "participant", "position", "chosen_side", "kind", "strategy",
    "issued_at", "answered_at", "response_ms", "excluded", "client",
)  # fmt: skip
PARAMETER, PARAMETERS = "parameter.", "parameters"
# Most columns for parameters: participants can send parameters of any name, and too many columns break spreadsheets.
_MOST_PARAMETERS = 50
# Names of parameters that can be names of columns; other parameters are part of the column ``parameters``.
_COLUMN = re.compile(r"[\w.-]+")
# Characters that programs may read as the end of a line, although JSON does not escape them.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
# Rows written at a time.
_BATCH = 500


class Member(NamedTuple):
    """A participant without the secret id: a number in the order of joining, and the parameters of the link."""

    number: int
    puid: str
    parameters: Mapping[str, Any]


def answers_csv(store: Store, study: Study) -> Iterator[str]:
    """Yield the answers of a study as CSV in pieces; answers of excluded participants are marked."""
    last, members = store.answers.last(study.id), roster(store, study)
    columns = [*_SALMON, *_OURS, PARAMETERS, *(PARAMETER + name for name in _common(members))]
    yield from csv_rows([columns])
    rows = _rows(store, study, members, last)
    lines = csv_rows([_cell(row.get(name)) for name in columns] for row in rows)
    while piece := list(islice(lines, _BATCH)):
        yield "".join(piece)


def answers_jsonl(store: Store, study: Study) -> Iterator[str]:
    """Yield the answers of a study as JSON Lines."""
    # The last answer first, then the participants: whoever gave one of these answers has joined by then.
    last, members = store.answers.last(study.id), roster(store, study)
    for row in _rows(store, study, members, last):
        yield _json(row) + "\n"


def embedding_csv(names: Sequence[str], X: NDArray[np.float64]) -> str:
    """Return a CSV with the id, the name and the position of each object."""
    header = ["id", "name", *(f"x{i + 1}" for i in range(X.shape[1]))]
    rows = ([number, name, *point] for number, (name, point) in enumerate(zip(names, X.tolist(), strict=True)))
    return csv_text(header, rows)


def roster(store: Store, study: Study) -> dict[str, Member]:
    """Return the participants by id."""
    keys, members = study.settings.get("identify_by") or [], {}
    for number, each in enumerate(store.participants.all(study.id), 1):
        puid = next((str(each.parameters[key]) for key in keys if each.parameters.get(key)), str(number))
        members[each.id] = Member(number, _one_line(puid) or str(number), each.parameters)
    return members


def _rows(store: Store, study: Study, members: Mapping[str, Member], last: int) -> Iterator[dict[str, Any]]:
    names, common = [each.name for each in store.studies.objects(study.id)], frozenset(_common(members))
    for answer in store.answers.log(study.id, limit=last, include_excluded=True):
        member = members[answer.participant]
        yield {**_row(answer, names, member, study.created_at), **_parameters(member, common)}


def _common(members: Mapping[str, Member]) -> list[str]:
    """Return the most frequent parameters, which have columns of their own."""
    names = (name for member in members.values() for name in member.parameters)
    counts = Counter(name for name in names if _COLUMN.fullmatch(name))
    columns: dict[str, str] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        # Readers of tables ignore the case of columns.
        columns.setdefault(name.lower(), name)
    return list(columns.values())[:_MOST_PARAMETERS]


def _parameters(member: Member, common: frozenset[str]) -> dict[str, Any]:
    own = {name: value for name, value in member.parameters.items() if name in common and _is_cell(value)}
    others = {name: value for name, value in member.parameters.items() if name not in own}
    return {PARAMETERS: others, **{PARAMETER + name: value for name, value in own.items()}}


def _is_cell(value: Any) -> bool:
    """Return whether a cell can hold a value. An empty cell means that there is none, and a line end ends the row."""
    return isinstance(value, str) and value != "" and _one_line(value) == value


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


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
        "datetime_received": _iso(answer.answered_at),
        **{f"{part}_html": html.escape(name) for part, name in shown.items()},
        **{f"{part}_filename": name for part, name in shown.items()},
        "sequence": answer.sequence,
        "participant": member.number,
        "position": answer.position,
        "chosen_side": "left" if answer.left == answer.near else "right",
        "kind": str(answer.kind),
        "strategy": answer.strategy,
        "issued_at": _iso(answer.issued_at),
        "answered_at": _iso(answer.answered_at),
        "response_ms": answer.response_ms,
        "excluded": answer.excluded,
        "client": answer.client,
    }


def _iso(at: int) -> str:
    moment = datetime.fromtimestamp(at // 1_000_000, UTC).replace(microsecond=at % 1_000_000)
    return moment.isoformat(timespec="microseconds")


def _cell(value: Any) -> str | int | float:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return value
    return "" if value is None or value == {} else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS)
