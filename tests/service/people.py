"""What tests of the service share: a password, objects, settings, a participant, and readers of errors and logs."""

import json
import re

PASSWORD = "correct horse battery"
THINGS = ["Paris", "Lyon", "Madrid", "Rome", "Oslo", "Wien"]


def settings(**changes):
    """The default settings of a study, with changes."""
    from erkle.service.studies.spec import StudySettings

    return StudySettings(**changes).model_dump(mode="json")


def reason(answer):
    """The reason of an error response."""
    return answer.json()["error"]["reason"]


def missing(sentence, words):
    """The words and values that a sentence should have but does not."""
    return [word for word in words if word not in str(sentence)]


def lines(path):
    """The JSON lines of a server's log file."""
    return [json.loads(line) for line in path.read_text().splitlines() if re.match(r"\{", line)]


class Somebody:
    """A participant who answers step by step."""

    def __init__(self, client, study, consent=True, **parameters):
        self.client, self.study, self.parameters = client, study, parameters
        self.reply = self.post("join", parameters=parameters, consent=consent).json()
        self.id = self.reply.get("participant")

    def post(self, what, **body):
        return self.client.post(f"/api/take/{self.study}/{what}", json=body)

    @property
    def question(self):
        return self.reply["questions"][0]

    def send(self, question=None, side="left", **changes):
        question = question or self.question
        body = {"participant": self.id, "token": question["token"], "choice": question[side]["id"], "response_ms": 800}
        return self.post("answer", **{**body, "parameters": self.parameters, **changes})

    def answer(self, **options):
        reply = self.send(**options)
        assert reply.status_code == 200, reply.text
        self.reply = reply.json()
        return self.reply

    def answer_all(self, **options):
        while not self.reply["finished"]:
            self.answer(**options)
        return self.reply["finished"]
