"""kill -9 at random moments while participants answer: every acknowledged answer must be saved once, and learned.

Participants send an answer again until it is acknowledged, as the page in the browser does.
"""

import random
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.service.comparing import Kept, compared, same_kernel
from benchmarks.service.participants import Participants
from benchmarks.service.serving import Serving

__all__ = ["Survived", "kill_and_check"]

# Acknowledged answers without which the kills would say little.
_LEAST = 100


class Survived(NamedTuple):
    """The counts after all kills; ``refused`` counts honest answers that were refused for good."""

    kills: int
    clients: int
    acknowledged: int
    refused: int
    kept: Kept
    same_kernel: bool

    @property
    def kept_its_promise(self) -> bool:
        """Whether no acknowledged answer is lost, doubled or altered, and the kernel is that of the log."""
        has_failed = self.refused or self.kept.lost or self.kept.twice or self.kept.altered
        return self.acknowledged > 0 and not has_failed and self.same_kernel


def kill_and_check(
    n_kills: int, n_clients: int = 16, n_objects: int = 30, longest: float = 1.0, workers: int = 1
) -> Survived:
    """Kill the server ``n_kills`` times, at most ``longest`` seconds after each start, and check the log."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        serving = Serving(Path(folder), n_objects, per_participant=30, workers=workers)
        serving.start()
        participants = Participants(serving, serving.url, n_clients)
        participants.start()
        try:
            for _ in range(n_kills):
                time.sleep(rng.uniform(0.05, longest))
                serving.kill()
                serving.start()
            time.sleep(longest)
            # On a busy machine, few answers arrive between the kills.
            participants.until(_LEAST)
        finally:
            participants.end()
        if participants.errors:
            raise participants.errors[0]
        same = same_kernel(serving, Path(folder))
        serving.stop()
        told = participants.acknowledged
        return Survived(n_kills, n_clients, len(told), participants.n_refused, compared(serving, told), same)
