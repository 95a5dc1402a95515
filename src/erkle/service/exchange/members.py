"""Participants in exports: numbered in the order in which they joined, without their secret ids."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from erkle.service.exchange.cells import one_line
from erkle.service.participation.identity import known_as
from erkle.store import Store, Study

PARAMETER, PARAMETERS = "parameter.", "parameters"
# Most columns for parameters: participants can send parameters of any name, and too many columns break spreadsheets.
_MOST_PARAMETERS = 50
# Names of parameters that can be names of columns; other parameters are part of the column ``parameters``.
_COLUMN = re.compile(r"[\w.-]+")


class Member(NamedTuple):
    """A participant without the secret id: a number in the order of joining, and the parameters of the link."""

    number: int
    puid: str
    parameters: Mapping[str, Any]


def roster(store: Store, study: Study) -> dict[str, Member]:
    """Return the participants by id."""
    keys, members = study.settings.get("identify_by") or [], {}
    for number, each in enumerate(store.participants.all(study.id), 1):
        members[each.id] = Member(number, known_as(keys, each.parameters) or str(number), each.parameters)
    return members


def common_parameters(given: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the most frequent parameters, which have columns of their own."""
    names = (name for parameters in given for name in parameters)
    counts = Counter(name for name in names if _COLUMN.fullmatch(name))
    columns: dict[str, str] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        # Readers of tables ignore the case of columns.
        columns.setdefault(name.lower(), name)
    return list(columns.values())[:_MOST_PARAMETERS]


def parameter_columns(common: Iterable[str]) -> list[str]:
    """Return the names of the columns for parameters, given those that have columns of their own."""
    return [PARAMETERS, *(PARAMETER + name for name in common)]


def parameter_cells(parameters: Mapping[str, Any], common: Collection[str]) -> dict[str, Any]:
    """Return the parameters of a participant by column."""
    own = {name: value for name, value in parameters.items() if name in common and _is_cell(value)}
    others = {name: value for name, value in parameters.items() if name not in own}
    return {PARAMETERS: others, **{PARAMETER + name: value for name, value in own.items()}}


def _is_cell(value: Any) -> bool:
    """Return whether a cell can hold a value. An empty cell means that there is none, and a line end ends the row."""
    return isinstance(value, str) and value != "" and one_line(value) == value
