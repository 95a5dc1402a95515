"""Numbers for Prometheus: what this process did, and what the database holds.

What is in the database is counted there when somebody asks, so that it is right with several workers, and after a
restart. No label names a study or a person.
"""

import os
import threading
import time
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from erkle.service.runtime import Runtimes
from erkle.store import State, Store

__all__ = ["REFUSED", "REQUESTS", "Exposition"]

_BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
# With several workers, the variable PROMETHEUS_MULTIPROC_DIR names the folder in which they add up.
_SHARED = "PROMETHEUS_MULTIPROC_DIR" in os.environ

# Half of all lines would say when this process first saw a label.
disable_created_metrics()  # type: ignore[no-untyped-call]
_here = CollectorRegistry()
REQUESTS = Histogram(
    "erkle_request_seconds", "Time of requests.", ["method", "route", "status"], buckets=_BUCKETS, registry=_here
)
REFUSED = Counter("erkle_refused", "What was not done, by reason.", ["route", "reason"], registry=_here)


class Exposition:
    """What ``/metrics`` says; the database is asked at most once in some seconds."""

    def __init__(self, store: Store, runtimes: Runtimes, seconds: float = 5.0) -> None:
        self._store, self._runtimes, self._seconds = store, runtimes, seconds
        self._lock = threading.Lock()
        self._counted: tuple[float, list[Metric]] = (-seconds, [])

    def text(self) -> bytes:
        """All numbers, in the text format of Prometheus."""
        registry = CollectorRegistry()
        if _SHARED:
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            registry.register(_Collected(_here.collect()))
        registry.register(_Collected([*self._from_database(), self._lag()]))
        return generate_latest(registry)

    def _lag(self) -> Metric:
        lag = sum(runtime.learning.lag for runtime in self._runtimes.all())
        return GaugeMetricFamily("erkle_learner_lag_answers", "Answers that have not been learned yet.", value=lag)

    def _from_database(self) -> list[Metric]:
        with self._lock:
            if time.monotonic() - self._counted[0] >= self._seconds:
                self._counted = (time.monotonic(), list(_count(self._store)))
            return self._counted[1]


class _Collected:
    """Metrics that are there already, as the registry wants them."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _count(store: Store) -> Iterable[Metric]:
    totals = store.studies.totals()
    states = GaugeMetricFamily("erkle_studies", "Studies.", labels=["state"])
    for state in State:
        states.add_metric([state.value], totals.studies.get(state, 0))
    yield states
    yield CounterMetricFamily("erkle_answers", "Answers that were acknowledged.", value=totals.answers)
    yield CounterMetricFamily("erkle_skips", "Questions that were skipped.", value=totals.skips)
    asked = CounterMetricFamily("erkle_questions", "Questions that were issued.", labels=["strategy", "kind"])
    for by, number in sorted(totals.questions.items()):
        asked.add_metric(by, number)
    yield asked
    sentence = "Participants of open studies who have an open question."
    yield GaugeMetricFamily("erkle_open_participants", sentence, value=totals.open_participants)
