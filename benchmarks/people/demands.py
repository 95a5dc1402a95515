"""What was demanded of a figure, and whether it holds: computed where the figure is shown."""

from typing import NamedTuple

from benchmarks.data import markdown


class Demand(NamedTuple):
    """A value that should be at most (or at least) a bound."""

    what: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether it is."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "**fails**"
        return f"{'≥' if self.at_least else '≤'} {self.bound:,.5g}: {verdict}"


class Table(NamedTuple):
    """A title, sentences about it, rows, and the demands that stand in them."""

    title: str
    about: str
    header: list[str]
    rows: list[list[str]]
    demands: list[Demand]

    def __str__(self) -> str:
        return "\n\n".join([f"## {self.title}", self.about, markdown(self.header, self.rows)])


def summary(tables: list[Table]) -> str:
    """How many demands hold, and which ones do not."""
    demands = [demand for table in tables for demand in table.demands]
    failing = [demand for demand in demands if not demand.holds]
    text = f"{len(demands) - len(failing)} of {len(demands)} demanded values hold."
    return text + "".join(f"\n- fails: {demand.what}: {demand.value:,.4g}, demanded {demand}" for demand in failing)
