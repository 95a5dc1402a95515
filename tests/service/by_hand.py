"""Rows that somebody writes into the database by hand, and people who go on meanwhile."""

import sqlite3
import time
from contextlib import closing

QUESTION = {"head": 0, "o1": 1, "o2": 2, "left_object": 1, "kind": "chosen", "strategy": "random"}
ANSWER = {"choice": 1, "response_ms": 700, "client": "{}", "answered_at": 1_700_000_000_000_000}
SOME = 12
FORMATS = ["answers.csv", "answers.jsonl", "kernel.npz", "embedding.csv", "bundle.zip"]


def put(path, study, participant, changes, answered=True, expires=0):
    """A question, and its answer, as SQL writes them."""
    connection = sqlite3.connect(path, timeout=30)
    [[study]] = connection.execute("SELECT id FROM studies WHERE public_id = ?", [study])
    [[participant]] = connection.execute("SELECT id FROM participants WHERE public_id = ?", [participant])
    [[count]] = connection.execute("SELECT count(*) FROM questions")
    [[last]] = connection.execute("SELECT coalesce(max(sequence), 0) FROM answers WHERE study_id = ?", [study])
    question = {**QUESTION, **{key: value for key, value in changes.items() if key in QUESTION}}
    question |= {"token": f"by-hand-{count}", "study_id": study, "participant_id": participant}
    number = insert(connection, "questions", question | {"issued_at": 0, "expires_at": expires})
    if answered:
        answer = {**ANSWER, **{key: value for key, value in changes.items() if key in ANSWER}}
        insert(connection, "answers", answer | {"study_id": study, "sequence": last + 1, "question_id": number})
    connection.commit()
    connection.close()


def insert(connection, table, values):
    names = ", ".join(values)
    marks = ", ".join("?" for _ in values)
    return connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*values.values()]).lastrowid


def join(client, study):
    return client.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True}).json()


def answer(client, study, turn):
    asked = turn["questions"][0]
    body = {"participant": turn["participant"], "token": asked["token"], "choice": asked["left"]["id"]}
    reply = client.post(f"/api/take/{study}/answer", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def some_answers(client, study):
    """So many that it is all but sure that one of them is not held out."""
    turn = join(client, study)
    for _ in range(SOME):
        turn = answer(client, study, turn)
    return turn


def learned(researcher, study, n):
    end = time.monotonic() + 30
    while (live := researcher.get(f"/api/studies/{study}/live").json())["learner"]["sequence"] != n:
        assert time.monotonic() < end, live
        time.sleep(0.02)
    return live


def by_sql(configuration, statement):
    """Change rows, whatever keeps them from being changed."""
    with closing(sqlite3.connect(configuration.data / "erkle.db", timeout=30)) as connection:
        for [trigger] in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        assert connection.execute(statement).rowcount > 0
        connection.commit()
