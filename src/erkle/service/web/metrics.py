"""Metrics for Prometheus: the requests of this process, and counts from the database.

Counts of answers and studies are read from the database, so that they are right with several workers and after a
restart. No label names a study or a person, and each label has few values.
"""

import os
from collections.abc import Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from erkle.service.dashboard.cache import Cache
from erkle.service.learning import Learning
from erkle.service.learning.choosing import LABELS
from erkle.service.runtime import Runtimes
from erkle.store import State, Store, Unknown
from erkle.store.clock import now

# Minimum seconds between two reads of the database.
_SECONDS = 5.0
# The strategies that are counted separately. An import may contain any text.
_STRATEGIES = LABELS | {"catch", "repeated", "imported"}
_BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
# With several workers, this variable names the folder through which they share their metrics.
_SHARED = "PROMETHEUS_MULTIPROC_DIR" in os.environ

# Creation times would double the number of lines.
disable_created_metrics()  # type: ignore[no-untyped-call]
_here = CollectorRegistry()
REQUESTS = Histogram(
    "erkle_request_seconds",
    "Duration of requests in seconds.",
    ["method", "route", "status"],
    buckets=_BUCKETS,
    registry=_here,
)
REFUSED = Counter("erkle_refused", "Refused requests, by reason.", ["route", "reason"], registry=_here)


class Exposition:
    """The content of ``/metrics``. The database is read at most every five seconds."""

    def __init__(self, store: Store, runtimes: Runtimes) -> None:
        self._runtimes = runtimes
        self._counted = Cache(partial(_count, store), _SECONDS)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        registry = CollectorRegistry()
        if _SHARED:
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            registry.register(_here)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterable[Metric]:
        """Yield the counts from the database, how many answers are not learned, and how long learning has failed."""
        learners = [runtime.learning for runtime in self._runtimes.all()]
        lag, stalled = sum(map(_lag, learners)), max(map(_stalled_seconds, learners), default=0.0)
        yield from self._counted.value()
        yield GaugeMetricFamily("erkle_learner_lag_answers", "Answers not learned yet.", value=lag)
        sentence = "Longest time for which the model of a study has stood still because learning fails."
        yield GaugeMetricFamily("erkle_learner_stalled_seconds", sentence, value=stalled)


def _lag(learning: Learning) -> int:
    try:
        return learning.lag()
    except Unknown:
        # Another process has deleted the study.
        return 0


def _stalled_seconds(learning: Learning) -> float:
    # The clock may have been set back since.
    return 0.0 if learning.stall is None else max(0, now() - learning.stall.since) / 1e6


def _count(store: Store) -> list[Metric]:
    totals = store.studies.totals(_STRATEGIES)
    states = GaugeMetricFamily("erkle_studies", "Studies.", labels=["state"])
    for state in State:
        states.add_metric([state.value], totals.studies.get(state, 0))
    asked = CounterMetricFamily("erkle_questions", "Issued questions.", labels=["strategy", "kind"])
    for by, number in sorted(totals.questions.items()):
        asked.add_metric(by, number)
    sentence = "Participants who have an open question."
    return [
        states,
        CounterMetricFamily("erkle_answers", "Acknowledged answers.", value=totals.answers),
        CounterMetricFamily("erkle_skips", "Skipped questions.", value=totals.skips),
        asked,
        GaugeMetricFamily("erkle_open_participants", sentence, value=totals.open_participants),
    ]
