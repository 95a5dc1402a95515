"""YAML as plain values, with the line number of each value.

The result has only mappings, lists, strings, numbers, true, false and null. Tags and aliases are refused, and so are
files that are too long or too deeply nested.
"""

from typing import Any, NamedTuple

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from erkle.files import FileError
from erkle.service.studies.complaints import Place

# Characters of a file.
_MAX_LENGTH = 1_000_000
# Levels of nesting.
_MAX_DEPTH = 20
# Values, and starts and ends of lists and mappings: enough for 10,000 objects with a text and a picture each.
MAX_VALUES = 100_000
_PLAIN = "tag:yaml.org,2002:"
_NUMBERS = frozenset({"int", "float"})
_TEXTS = frozenset({"str", "timestamp", "value"})
# libyaml, if it is installed, is ten times as fast.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Lined(NamedTuple):
    """A value, and the line number of each place in it."""

    value: Any
    lines: dict[Place, int]

    def line(self, place: Place) -> int:
        r"""Return the line of a place, or of the nearest place that contains it.

        >>> parse("limits:\n  answers: 0\n", "study.yaml").line(("limits", "answers", "deeper"))
        2
        """
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def parse(text: str, name: str, verbatim: tuple[str, ...] = ()) -> Lined:
    r"""Parse a text in YAML. Values under the keys ``verbatim`` stay text, because an object may be called 1984 or no.

    >>> parse("objects: [no, 1984, 007]\nshow_names: no", "study.yaml", ("objects",)).value
    {'objects': ['no', '1984', '007'], 'show_names': False}
    """
    if len(text) > _MAX_LENGTH:
        raise FileError(f"{name}: has more than {_MAX_LENGTH:,} characters; put the objects into a CSV file.")
    try:
        _check_events(text, name)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise FileError(
            f"{name}, line {line}: {error.problem or 'is not YAML'}; check the punctuation and the indentation."
        ) from None
    except yaml.YAMLError:
        raise FileError(f"{name}: has invalid characters; save it as UTF-8.") from None
    reader = _Reader(name, verbatim)
    return Lined(None if node is None else reader.value(node, ()), reader.lines)


def _check_events(text: str, name: str) -> None:
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
        line = event.start_mark.line + 1
        if number > MAX_VALUES:
            raise FileError(
                f"{name}, line {line}: has more than {MAX_VALUES:,} values; put the objects into a CSV file."
            )
        if isinstance(event, yaml.AliasEvent):
            raise FileError(f"{name}, line {line}: uses an alias (*); write the value itself.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise FileError(f"{name}, line {line}: is nested more than {_MAX_DEPTH} levels deep; make it flatter.")


class _Reader:
    def __init__(self, name: str, verbatim: tuple[str, ...]) -> None:
        self.lines: dict[Place, int] = {}
        self._name, self._verbatim, self._scalars = name, verbatim, SafeConstructor()

    def value(self, node: yaml.Node, place: Place) -> Any:
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            self._check_tag(node, "map")
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            self._check_tag(node, "seq")
            return [self.value(inner, (*place, number)) for number, inner in enumerate(node.value)]
        return self._scalar(node, bool(place) and place[0] in self._verbatim)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, inner in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise FileError(f"{self._name}, line {line}: a key is a list or a mapping; use a word as the key.")
            if key.value in found:
                raise FileError(f"{self._name}, line {line}: {key.value[:60]} occurs twice; remove one of them.")
            self.lines[(*place, key.value)] = line
            found[key.value] = self.value(inner, (*place, key.value))
        return found

    def _scalar(self, node: yaml.Node, verbatim: bool) -> Any:
        kind = node.tag.removeprefix(_PLAIN)
        self._check_tag(node, "null", "bool", *_NUMBERS, *_TEXTS)
        if verbatim or kind in _TEXTS or (kind in _NUMBERS and len(node.value) > 100):
            return node.value
        try:
            return self._scalars.construct_object(node)
        except (ValueError, ConstructorError):  # For example !!int "seven".
            return node.value

    def _check_tag(self, node: yaml.Node, *kinds: str) -> None:
        if node.tag not in {f"{_PLAIN}{kind}" for kind in kinds}:
            line = node.start_mark.line + 1
            raise FileError(f"{self._name}, line {line}: has the tag {node.tag[:60]}; write plain values.")
