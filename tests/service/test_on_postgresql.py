"""The service works the same with PostgreSQL."""

import io

import numpy as np
import pytest

from erkle.service import Configuration
from erkle.service.learning import Fold


@pytest.fixture
def configuration(tmp_path, new_postgresql):
    return Configuration(data=tmp_path / "data", database=new_postgresql)


def test_participants_answer_and_the_kernel_is_learned_from_the_log(client, researcher, store, study):
    for name in ("ann", "bob"):
        sent = {"parameters": {"PROLIFIC_PID": name}, "consent": True}
        reply = client.post(f"/api/take/{study}/join", json=sent).json()
        while not reply["finished"]:
            question = reply["questions"][0]
            choice = min(question["left"]["id"], question["right"]["id"])
            body = {"participant": reply["participant"], "token": question["token"], "choice": choice}
            reply = client.post(f"/api/take/{study}/answer", json=body).json()
            again = client.post(f"/api/take/{study}/answer", json=body).json()
            assert again["acknowledged"] == {**reply["acknowledged"], "repeated": True}
    kernel = researcher.get(f"/api/studies/{study}/export/kernel.npz")
    assert kernel.status_code == 200, kernel.text
    fold = Fold(6)
    fold.learn(list(store.answers.log(study)))
    np.testing.assert_array_equal(np.load(io.BytesIO(kernel.content))["kernel"], fold.learner.kernel_matrix())
    live = researcher.get(f"/api/studies/{study}/live").json()
    assert live["answers"] == store.answers.last(study) == 102
    [first, _] = researcher.get(f"/api/studies/{study}/participants").json()
    place = f"/api/studies/{study}/participants"
    assert researcher.post(place, json={"ids": [first["id"]], "excluded": True}).status_code == 200
    assert [row["excluded"] for row in researcher.get(place).json()] == [True, False]
    assert researcher.delete(f"/api/studies/{study}").status_code < 300
    assert store.studies.all() == []
