"""How long participants wait while a researcher imports many answers into another study."""

import tempfile
import threading
import time
from pathlib import Path

from benchmarks.service.load import Waits, open_loop
from benchmarks.service.serving import PASSWORD, Serving
from erkle import triplets
from erkle.client import Client

__all__ = ["waits_during_import"]

# Seconds of answering before the import begins.
_BEFORE = 5.0


def waits_during_import(
    serving: Serving, n_answers: int, participants: int, rate: float, seconds: float
) -> tuple[Waits, float]:
    """Waits at a fixed rate of answers, and the seconds of the import, which must end while participants answer."""
    names = [f"point {number}" for number in range(len(serving.places))]
    took = list[float]()
    with tempfile.TemporaryDirectory() as folder, Client(serving.url, timeout=seconds) as client:
        client.login("ann", PASSWORD)
        study = str(client.create_study("Imported", names)["id"])
        file = Path(folder) / "answers.csv"
        rows = triplets.sample(len(names), n_answers, 0).tolist()
        file.write_text("\n".join(["anchor,near,far", *(",".join(names[i] for i in row) for row in rows)]) + "\n")

        def send() -> None:
            begun = time.monotonic()
            assert client.import_answers(study, file) == n_answers
            took.append(time.monotonic() - begun)

        researcher = threading.Timer(_BEFORE, send)
        researcher.start()
        waits = open_loop(serving, participants, rate, seconds)
        is_complete = bool(took)
        researcher.join()
    if not is_complete:
        raise RuntimeError(f"The import of {n_answers:,} answers did not end within {seconds:.0f} seconds.")
    return waits, took[0]
