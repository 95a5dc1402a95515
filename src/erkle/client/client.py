"""What the pages of the service do, as methods."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from erkle.client.replies import Json, Reply, ShownObject, object_of, reply_of
from erkle.client.sending import Server, part

Pathlike = str | os.PathLike[str]


class Client:
    """A server of studies, as a researcher or as participants see it.

    Parameters
    ----------
    base_url : str
        Where the server is, such as ``http://127.0.0.1:8000``.
    timeout : float
        Seconds that one attempt may take.
    patience : float
        Seconds for which a call is tried again before it fails; 0 for one attempt.
    connections : int
        How many calls may run at once, in threads.

    Raises
    ------
    Refused
        From every method: the server has said no, and that is final.
    Unreachable
        From every method: no answer, for as long as the client was patient.

    Examples
    --------
    Not run here, for it needs a server::

        with Client("http://127.0.0.1:8000") as client:
            client.login("ann", "a long password")
            study = client.create_study("Cities", ["Paris", "Lyon", "Madrid"])["id"]
            client.open_study(study)
            reply = client.join(study, {"PROLIFIC_PID": "p1"})
            while reply.finished is None:
                question = reply.questions[0]
                reply = client.answer(study, reply.participant, question.token, choice=question.left.id)
            client.export(study, "answers.csv", "answers.csv")

    >>> Client("127.0.0.1:8000")
    Traceback (most recent call last):
    ValueError: The address is '127.0.0.1:8000'; pass one such as http://127.0.0.1:8000.
    """

    def __init__(self, base_url: str, timeout: float = 10.0, patience: float = 30.0, connections: int = 100) -> None:
        self._server = Server(base_url, timeout, patience, connections)

    # Participants

    def about(self, study: str) -> Json:
        """Title, texts and length of a study, as a participant sees them before they join."""
        return self._json("GET", f"/api/take/{part(study)}")

    def join(self, study: str, parameters: Mapping[str, str] | None = None, consent: bool = True) -> Reply:
        """Take part, with the parameters of the link that was followed."""
        return self._reply(study, "join", {"parameters": dict(parameters or {}), "consent": consent}, again=False)

    def resume(self, study: str, participant: str) -> Reply:
        """Where the participant stands, as after a reload of the page."""
        return self._reply(study, "resume", {"participant": participant})

    def answer(
        self,
        study: str,
        participant: str | None,
        token: str,
        choice: int,
        response_ms: int | None = None,
        client: Json | None = None,
    ) -> Reply:
        """Answer a question with the id of the left or of the right thing; when this returns, the answer is safe."""
        sent = {"participant": participant, "token": token, "choice": choice, "response_ms": response_ms}
        return self._reply(study, "answer", {**sent, "client": client or {}})

    def skip(self, study: str, participant: str | None, token: str, reason: str = "") -> Reply:
        """Give a question up, with a reason."""
        return self._reply(study, "skip", {"participant": participant, "token": token, "reason": reason})

    # Researchers

    def login(self, name: str, password: str) -> Json:
        """Sign in; the account."""
        return self._signed_in("/api/login", {"name": name, "password": password})

    def enter(self, token: str) -> Json:
        """Sign in by a one-time link, of which the token is what follows the ``#``."""
        return self._signed_in("/api/enter", {"token": token})

    def set_up(self, token: str, name: str, password: str) -> Json:
        """Make the first account of a server, by the link that it has printed, and sign in."""
        return self._signed_in("/api/setup", {"token": token, "name": name, "password": password})

    def logout(self) -> None:
        """Sign out."""
        self._server.call("POST", "/api/logout", {})
        self._server.csrf = ""

    def studies(self) -> list[Json]:
        """The studies of this account, those of all for an administrator."""
        return list(self._server.call("GET", "/api/studies"))

    def study(self, study: str) -> Json:
        """One study with its settings."""
        return self._json("GET", f"/api/studies/{part(study)}")

    def objects(self, study: str) -> list[ShownObject]:
        """What the study asks about; the place in the list is the id."""
        return [object_of(each) for each in self._server.call("GET", f"/api/studies/{part(study)}/objects")]

    def create_study(self, title: str, objects: Sequence[str | Json], settings: Json | None = None) -> Json:
        """A new study, as a draft."""
        sent = {"title": title, "objects": list(objects), "settings": settings or {}}
        return self._json("POST", "/api/studies", sent, again=False)

    def upload(self, paths: Sequence[Pathlike], spec: str = "") -> Json:
        """A new study of files: pictures, sounds, films, a ZIP of them or a CSV of names; ``spec`` is YAML or JSON."""
        with _opened("files", paths) as files:
            return self._json("POST", "/api/studies/upload", files=files, form={"spec": spec}, again=False)

    def edit(self, study: str, **changes: Any) -> Json:
        """Change ``title`` or ``settings``."""
        return self._json("PATCH", f"/api/studies/{part(study)}", changes)

    def open_study(self, study: str) -> Json:
        """Ask people from now on."""
        return self._json("POST", f"/api/studies/{part(study)}/state", {"state": "open"})

    def pause_study(self, study: str) -> Json:
        """Ask nobody until the study is opened again."""
        return self._json("POST", f"/api/studies/{part(study)}/state", {"state": "paused"})

    def close_study(self, study: str) -> Json:
        """Ask nobody any more."""
        return self._json("POST", f"/api/studies/{part(study)}/state", {"state": "closed"})

    def delete(self, study: str) -> None:
        """Remove a study with everything in it."""
        self._server.call("DELETE", f"/api/studies/{part(study)}")

    def live(self, study: str) -> Json:
        """What the dashboard shows: counts, map, curves, how much is still to ask."""
        return self._json("GET", f"/api/studies/{part(study)}/live")

    def participants(self, study: str) -> list[Json]:
        """The table of participants."""
        return list(self._server.call("GET", f"/api/studies/{part(study)}/participants"))

    def exclude(self, study: str, participant: str) -> None:
        """Leave somebody's answers out; the kernel is learned anew without them."""
        self._server.call("POST", f"/api/studies/{part(study)}/participants/{part(participant)}", {"excluded": True})

    def include(self, study: str, participant: str) -> None:
        """Take somebody's answers in again."""
        self._server.call("POST", f"/api/studies/{part(study)}/participants/{part(participant)}", {"excluded": False})

    def disputed(self, study: str) -> list[Json]:
        """The questions that people answer most differently."""
        return list(self._server.call("GET", f"/api/studies/{part(study)}/disputed"))

    def export(self, study: str, name: str, out: Pathlike | None = None) -> bytes:
        """Bytes of answers.csv, answers.jsonl, kernel.npz, embedding.csv or bundle.zip, also in a file if wanted."""
        data = self._server.send("GET", f"/api/studies/{part(study)}/export/{part(name)}").content
        if out is not None:
            Path(out).write_bytes(data)
        return data

    def import_bundle(self, path: Pathlike) -> Json:
        """A study that another server has exported, as a new one here."""
        with _opened("file", [path]) as files:
            return self._json("POST", "/api/import", files=files, again=False)

    def import_answers(self, study: str, path: Pathlike) -> int:
        """Add answers from a CSV or JSONL file to a study; how many."""
        with _opened("file", [path]) as files:
            added = self._json("POST", f"/api/studies/{part(study)}/import", files=files, again=False)
        return int(added["imported"])

    def import_triplets(self, path: Pathlike, title: str) -> Json:
        """A new study of the names and answers in a CSV or JSONL file."""
        with _opened("file", [path]) as files:
            return self._json("POST", "/api/import/triplets", files=files, form={"title": title}, again=False)

    def health(self) -> Json:
        """Whether the server works."""
        return self._json("GET", "/health")

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _json(self, method: str, path: str, sent: Json | None = None, **how: Any) -> Json:
        return dict(self._server.call(method, path, sent, **how))

    def _reply(self, study: str, verb: str, sent: Json, again: bool = True) -> Reply:
        return reply_of(self._server.call("POST", f"/api/take/{part(study)}/{verb}", sent, again=again))

    def _signed_in(self, path: str, sent: Json) -> Json:
        me = self._server.call("POST", path, sent, again=False)
        self._server.csrf = me["csrf"]
        return dict(me["account"])


@contextmanager
def _opened(field: str, paths: Sequence[Pathlike]) -> Iterator[list[Any]]:
    """Files for a form, closed when they have been sent."""
    with ExitStack() as stack:
        yield [(field, (Path(path).name, stack.enter_context(Path(path).open("rb")))) for path in paths]
