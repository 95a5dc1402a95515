"""Bounds that measured values must keep, checked where a value is shown."""

from typing import NamedTuple

from benchmarks.data import markdown


class Requirement(NamedTuple):
    """A measured value and the bound that it must not exceed (or, with ``at_least``, must reach)."""

    what: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the value keeps the bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "**fails**"
        return f"{'≥' if self.at_least else '≤'} {self.bound:,.5g}: {verdict}"


class Table(NamedTuple):
    """A table with a title, an explanation, and the requirements that its rows show."""

    title: str
    about: str
    header: list[str]
    rows: list[list[str]]
    requirements: list[Requirement]

    def __str__(self) -> str:
        return "\n\n".join([f"## {self.title}", self.about, markdown(self.header, self.rows)])


def summary(tables: list[Table]) -> str:
    """How many requirements hold, and which ones fail."""
    requirements = [requirement for table in tables for requirement in table.requirements]
    failing = [requirement for requirement in requirements if not requirement.holds]
    if not failing:
        return f"All {len(requirements)} required values hold."
    text = f"{len(requirements) - len(failing)} of {len(requirements)} required values hold. These fail:\n"
    return text + "".join(f"\n- {each.what}: {each.value:,.4g}, required {each}" for each in failing)
