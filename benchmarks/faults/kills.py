"""kill -9 while the server starts for the first time, imports answers, or deletes a study.

The server is killed several times in the middle of a request. Then all of it has happened, or nothing.
"""

import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar

from benchmarks.faults.trial import Fault, Trial, signed_in, wait_until
from benchmarks.service.serving import Serving, free_port, launch
from erkle import triplets
from erkle.client import Client, Refused, Unreachable
from erkle.store import Imported, Store

__all__ = ["KilledInDeletion", "KilledInFirstStart", "KilledInImport"]

_KILLS = 4
# Answers of the file that is imported: the import takes about a second.
_IMPORTED = 10_000
_NO_STUDY, _NO_ANSWERS, _ALL_ANSWERS = "no study", "no answers", "all answers"


class KilledInFirstStart(Fault):
    """The server is killed several times during its first start."""

    @contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server on the folder that the killed ones have left."""
        data, rng = folder / "data", random.Random(0)
        data.mkdir()
        for _ in range(_KILLS):
            options = ["--data", str(data), "--port", str(free_port())]
            process = launch(options, data / "server.log", {}, {})
            # The database is created about a second after the start.
            time.sleep(rng.uniform(0.8, 2.5))
            process.kill()
            process.wait()
        with super().serving(folder) as serving:
            yield serving

    def happen(self, trial: Trial) -> str:
        """It has already happened."""
        trial.participants.mend()
        return f"{_KILLS} kills"


class _KilledInRequest(Fault):
    """Kills the server several times while it works on a request of a researcher."""

    # What a researcher may see of the study afterwards.
    allowed: ClassVar[tuple[str, ...]]

    def _prepare(self, serving: Serving, study: str) -> None:
        """Prepare the study for the request."""

    def _request(self, client: Client, study: str, answers: Path) -> None:
        raise NotImplementedError

    def _settle(self, serving: Serving) -> None:
        """Wait until the server has completed what was certain before the kill."""

    def happen(self, trial: Trial) -> str:
        """Measure how long the request takes, then kill the server at moments that divide this time evenly."""
        file, outcomes, n_hits = _answers(trial.folder / "answers.csv"), Counter[str](), 0
        with signed_in(trial.serving) as client:
            study = self._new_study(trial.serving, client)
            begun = time.monotonic()
            self._request(client, study, file)
            seconds = time.monotonic() - begun
        for number in range(_KILLS):
            with signed_in(trial.serving) as client:
                study = self._new_study(trial.serving, client)
                is_interrupted = threading.Event()
                request = threading.Thread(target=self._send, args=(client, study, file, is_interrupted))
                request.start()
                time.sleep(seconds * (number + 0.5) / _KILLS)
                trial.serving.kill()
                trial.participants.mend()
                trial.serving.start()
                request.join()
                n_hits += is_interrupted.is_set()
                self._settle(trial.serving)
                outcomes[_state(client, study)] += 1
        assert n_hits, "Each request was complete before the kill."
        assert set(outcomes) <= {*self.allowed}, f"After the kills: {dict(outcomes)}."
        found = ", ".join(f"{outcome} ({count})" for outcome, count in outcomes.items())
        return f"{n_hits} of {_KILLS} kills during the request; after the kills: {found}"

    def _new_study(self, serving: Serving, client: Client) -> str:
        study = str(client.create_study("Another", [f"point {i}" for i in range(30)])["id"])
        self._prepare(serving, study)
        return study

    def _send(self, client: Client, study: str, file: Path, is_interrupted: threading.Event) -> None:
        try:
            self._request(client, study, file)
        except Unreachable:
            is_interrupted.set()


class KilledInImport(_KilledInRequest):
    """The server is killed several times while it imports answers."""

    allowed = (_NO_ANSWERS, _ALL_ANSWERS)

    def _request(self, client: Client, study: str, answers: Path) -> None:
        client.import_answers(study, answers)

    def _settle(self, serving: Serving) -> None:
        # A server that has just started is still completing the import.
        with closing(sqlite3.connect(serving.database, timeout=60.0)) as database:
            query = "SELECT count(*) FROM import_batches WHERE ready"
            wait_until(lambda: database.execute(query).fetchone() == (0,), "The import is still not complete.")


class KilledInDeletion(_KilledInRequest):
    """The server is killed several times while it deletes a study."""

    allowed = (_NO_STUDY, _ALL_ANSWERS)

    def _prepare(self, serving: Serving, study: str) -> None:
        # Not through the server, where 10,000 answers take longer.
        with Store(serving.database) as store:
            store.imports.append(study, [Imported("bob", a, b, c) for a, b, c in _triplets()])

    def _request(self, client: Client, study: str, answers: Path) -> None:
        client.delete(study)


def _answers(path: Path) -> Path:
    lines = (",".join(f"point {i}" for i in row) for row in _triplets())
    path.write_text("\n".join(["anchor,near,far", *lines]) + "\n")
    return path


def _triplets() -> list[list[int]]:
    found: list[list[int]] = triplets.sample(30, _IMPORTED, 0).tolist()
    return found


def _state(client: Client, study: str) -> str:
    """What a researcher sees of a study: all answers, none, some, or no study."""
    listed = {each["id"]: each["answers"] for each in client.studies()}
    try:
        client.study(study)
    except Refused as refused:
        return _NO_STUDY if refused.status == 404 and study not in listed else f"status {refused.status}"
    n_answers = listed[study]
    return {0: _NO_ANSWERS, _IMPORTED: _ALL_ANSWERS}.get(n_answers, f"{n_answers:,} of {_IMPORTED:,} answers")
