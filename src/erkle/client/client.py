"""The client: a method for everything that the pages of the service do."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from erkle.client.replies import Json, Reply, ShownObject, object_of, reply_of
from erkle.client.sending import Server, path_segment

Pathlike = str | os.PathLike[str]


class Client:
    """A connection to a server, for a researcher or for participants.

    Parameters
    ----------
    base_url : str
        The address of the server, such as ``http://127.0.0.1:8000``.
    timeout : float
        Seconds that one attempt may take.
    retry_for : float
        Seconds for which a call is retried before it fails; 0 for a single attempt.
    connections : int
        Number of calls that may run at the same time, in threads.

    Raises
    ------
    Refused
        From every method, if the server refuses the request, or is still busy after ``retry_for`` seconds.
    Unreachable
        From every method, if the server does not respond within ``retry_for`` seconds.

    Examples
    --------
    This example needs a running server::

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
    ValueError: The address is '127.0.0.1:8000'; pass a URL such as http://127.0.0.1:8000.
    """

    def __init__(self, base_url: str, timeout: float = 10.0, retry_for: float = 30.0, connections: int = 100) -> None:
        self._server = Server(base_url, timeout, retry_for, connections)
        # The parameters of each participant's link, which fill the address of the ending.
        self._parameters: dict[str, Json] = {}

    # For participants

    def about(self, study: str, parameters: Mapping[str, str] | None = None) -> Json:
        """Return what visitors of a study see before they join, and whether they can, given their link's parameters."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        return self._json("GET", f"/api/take/{path_segment(study)}{query}")

    def join(self, study: str, parameters: Mapping[str, str] | None = None, consent: bool = True) -> Reply:
        """Join a study, with the parameters of the link that the participant followed."""
        given = dict(parameters or {})
        reply = self._reply(study, "join", {"parameters": given, "consent": consent}, repeatable=False)
        if reply.participant is not None:
            self._parameters[reply.participant] = given
        return reply

    def resume(self, study: str, participant: str) -> Reply:
        """Return where the participant stands, as if they had reloaded the page."""
        return self._continued(study, "resume", participant, {})

    def answer(
        self,
        study: str,
        participant: str | None,
        token: str,
        choice: int,
        response_ms: int | None = None,
        client: Json | None = None,
    ) -> Reply:
        """Answer a question with the id of the left or the right object; the answer is saved when this returns."""
        sent = {"token": token, "choice": choice, "response_ms": response_ms, "client": client or {}}
        return self._continued(study, "answer", participant, sent)

    def skip(self, study: str, participant: str | None, token: str, reason: str = "") -> Reply:
        """Skip a question, with a reason."""
        return self._continued(study, "skip", participant, {"token": token, "reason": reason})

    # For researchers

    def login(self, name: str, password: str) -> Json:
        """Sign in and return the account."""
        return self._signed_in("/api/login", {"name": name, "password": password})

    def enter(self, token: str) -> Json:
        """Sign in with a one-time link and return the account; the token is the part of the link after ``#``."""
        return self._signed_in("/api/enter", {"token": token})

    def set_up(self, token: str, name: str, password: str) -> Json:
        """Create the first account of a server, with the token of the link that the server printed, and sign in."""
        return self._signed_in("/api/setup", {"token": token, "name": name, "password": password})

    def logout(self) -> None:
        """Sign out."""
        self._server.call("POST", "/api/logout", {})
        self._server.csrf = ""

    def studies(self) -> list[Json]:
        """Return the studies of this account, or all studies for an admin."""
        return list(self._server.call("GET", "/api/studies"))

    def study(self, study: str) -> Json:
        """Return a study with its settings."""
        return self._json("GET", f"/api/studies/{path_segment(study)}")

    def signing_key(self, study: str) -> str:
        """Return the secret with which links to a study are signed, if it demands signatures."""
        return str(self._json("GET", f"/api/studies/{path_segment(study)}/signing-key")["key"])

    def objects(self, study: str) -> list[ShownObject]:
        """Return the objects of a study; an object's id is its position in the list."""
        return [object_of(each) for each in self._server.call("GET", f"/api/studies/{path_segment(study)}/objects")]

    def create_study(self, title: str, objects: Sequence[str | Json], settings: Json | None = None) -> Json:
        """Create a draft of a study and return it."""
        sent = {"title": title, "objects": list(objects), "settings": settings or {}}
        return self._json("POST", "/api/studies", sent, repeatable=False)

    def upload(self, paths: Sequence[Pathlike], spec: str = "", features: Sequence[Pathlike] = ()) -> Json:
        """Create a study from images, sounds, videos, a ZIP of them or a CSV of names; ``spec`` is YAML or JSON.

        ``features`` are files with vectors of the objects: CSV, NPY or NPZ.
        """
        with _opened(files=paths, features=features) as files:
            return self._json("POST", "/api/studies/upload", files=files, form={"spec": spec}, repeatable=False)

    def add_objects(
        self,
        study: str,
        objects: Sequence[str | Json] = (),
        paths: Sequence[Pathlike] = (),
        features: Sequence[Pathlike] = (),
    ) -> Json:
        """Add objects to a study: names, files, and files of features of the kinds that the study has."""
        sent = json.dumps([{"name": each} if isinstance(each, str) else each for each in objects])
        with _opened(files=paths, features=features) as files:
            path = f"/api/studies/{path_segment(study)}/objects"
            return self._json("POST", path, files=files, form={"objects": sent}, repeatable=False)

    def features(self, study: str) -> list[Json]:
        """Return the blocks of features of a study."""
        return list(self._server.call("GET", f"/api/studies/{path_segment(study)}/features"))

    def add_features(self, study: str, paths: Sequence[Pathlike]) -> Json:
        """Add files of features to a study, CSV, NPY or NPZ; features of the same name are replaced."""
        with _opened(files=paths) as files:
            return self._json("POST", f"/api/studies/{path_segment(study)}/features", files=files)

    def remove_features(self, study: str, name: str) -> None:
        """Remove the features with this name from a study."""
        self._server.call("DELETE", f"/api/studies/{path_segment(study)}/features/{path_segment(name)}")

    def edit(self, study: str, **changes: Any) -> Json:
        """Change the ``title`` or the ``settings`` of a study, and return it."""
        return self._json("PATCH", f"/api/studies/{path_segment(study)}", changes)

    def open_study(self, study: str) -> Json:
        """Open a study, so that participants can join and answer."""
        return self._json("POST", f"/api/studies/{path_segment(study)}/state", {"state": "open"})

    def pause_study(self, study: str) -> Json:
        """Pause a study until it is opened again."""
        return self._json("POST", f"/api/studies/{path_segment(study)}/state", {"state": "paused"})

    def close_study(self, study: str) -> Json:
        """Close a study for good."""
        return self._json("POST", f"/api/studies/{path_segment(study)}/state", {"state": "closed"})

    def delete(self, study: str) -> None:
        """Delete a study with all its data."""
        self._server.call("DELETE", f"/api/studies/{path_segment(study)}")

    def live(self, study: str) -> Json:
        """Return what the dashboard shows: the counts, the map, the curves and how many answers are still needed."""
        return self._json("GET", f"/api/studies/{path_segment(study)}/live")

    def participants(self, study: str) -> list[Json]:
        """Return the table of participants."""
        return list(self._server.call("GET", f"/api/studies/{path_segment(study)}/participants"))

    def exclude(self, study: str, participants: Sequence[str], excluded: bool = True) -> None:
        """Exclude participants, or include them again; then the kernel is learned again from the start."""
        self._decide(study, participants, excluded=excluded)

    def flag(self, study: str, participants: Sequence[str], flagged: bool = True) -> None:
        """Flag participants for review, or remove the flags."""
        self._decide(study, participants, flagged=flagged)

    def disputed(self, study: str) -> list[Json]:
        """Return the questions on which participants disagree most."""
        return list(self._server.call("GET", f"/api/studies/{path_segment(study)}/disputed"))

    def export(self, study: str, name: str, out: Pathlike | None = None) -> bytes:
        """Return the export with this name, such as answers.csv or bundle.zip; also write it to ``out``."""
        data = self._server.send("GET", f"/api/studies/{path_segment(study)}/export/{path_segment(name)}").content
        if out is not None:
            Path(out).write_bytes(data)
        return data

    def import_bundle(self, path: Pathlike) -> Json:
        """Create a study from a bundle that a server exported, and return it."""
        with _opened(file=[path]) as files:
            return self._json("POST", "/api/import", files=files, repeatable=False)

    def import_answers(self, study: str, path: Pathlike) -> int:
        """Add answers from a CSV or JSONL file to a study, and return their number."""
        with _opened(file=[path]) as files:
            added = self._json("POST", f"/api/studies/{path_segment(study)}/import", files=files, repeatable=False)
        return int(added["imported"])

    def import_triplets(self, path: Pathlike, title: str) -> Json:
        """Create a study from the names and answers in a CSV or JSONL file, and return it."""
        with _opened(file=[path]) as files:
            return self._json("POST", "/api/import/triplets", files=files, form={"title": title}, repeatable=False)

    def health(self) -> Json:
        """Return the state of the server."""
        return self._json("GET", "/health")

    def close(self) -> None:
        """Close the connections to the server."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _decide(self, study: str, participants: Sequence[str], **what: bool) -> None:
        self._json("POST", f"/api/studies/{path_segment(study)}/participants", {"ids": list(participants), **what})

    def _json(self, method: str, path: str, sent: Json | None = None, **how: Any) -> Json:
        return dict(self._server.call(method, path, sent, **how))

    def _reply(self, study: str, verb: str, sent: Json, repeatable: bool = True) -> Reply:
        return reply_of(
            self._server.call("POST", f"/api/take/{path_segment(study)}/{verb}", sent, repeatable=repeatable)
        )

    def _continued(self, study: str, verb: str, participant: str | None, sent: Json) -> Reply:
        parameters = self._parameters.get(participant or "", {})
        return self._reply(study, verb, {"participant": participant, "parameters": parameters, **sent})

    def _signed_in(self, path: str, sent: Json) -> Json:
        me = self._server.call("POST", path, sent, repeatable=False)
        self._server.csrf = me["csrf"]
        return dict(me["account"])


@contextmanager
def _opened(**fields: Sequence[Pathlike]) -> Iterator[list[Any]]:
    """Open files for the fields of a form, and close them after they have been sent."""
    with ExitStack() as stack:
        yield [
            (field, (Path(path).name, stack.enter_context(Path(path).open("rb"))))
            for field, paths in fields.items()
            for path in paths
        ]
