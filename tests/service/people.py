"""What the tests of the service share: a password, some things to ask about, settings, and what a log says."""

import json
import re

PASSWORD = "correct horse battery"
THINGS = ["Paris", "Lyon", "Madrid", "Rome", "Oslo", "Wien"]


def settings(**changes):
    """Settings of a study, with some that differ from the defaults."""
    from erkle.service.spec import StudySettings

    return StudySettings(**changes).model_dump(mode="json")


def reason(answer):
    """Why the service did not do something."""
    return answer.json()["error"]["reason"]


def lines(path):
    """The JSON lines of a server's log."""
    return [json.loads(line) for line in path.read_text().splitlines() if re.match(r"\{", line)]
