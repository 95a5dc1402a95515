"""Features of a study: uploaded in files, matched by name, learned, exported, and refused with a sentence."""

import io
import json
import time

import numpy as np
import pytest
from PIL import Image
from threadpoolctl import threadpool_limits

from erkle.features.array_files import npz_of
from erkle.kernels.lapack import one_thread
from erkle.service.learning import Fold
from people import THINGS, Somebody, missing, reason, settings

POSITIONS = np.random.default_rng(3).normal(size=(len(THINGS), 2))
CSV = "name,x,y\n" + "".join(f"{name},{x},{y}\n" for name, (x, y) in zip(THINGS, POSITIONS, strict=True))
SIDES = ("left", "right")


@pytest.fixture
def draft(researcher):
    """The id of a draft without questions that count otherwise."""
    given = settings(checks={"practice": 0}, holdout=0.0)
    return researcher.post("/api/studies", json={"title": "T", "objects": THINGS, "settings": given}).json()["id"]


def upload(client, study, *files):
    return client.post(f"/api/studies/{study}/features", files=[("files", file) for file in files])


def add(client, study, names, *files, **fields):
    sent = [("objects", (None, json.dumps([{"name": name} for name in names])))]
    sent += [("features", file) for file in files]
    return client.post(f"/api/studies/{study}/objects", files=sent, **fields)


def nearer(question):
    """The side of the candidate that is nearer to the anchor."""
    at = dict(zip(THINGS, POSITIONS, strict=True))
    left, right = (np.linalg.norm(at[question["anchor"]["name"]] - at[question[side]["name"]]) for side in SIDES)
    return "left" if left < right else "right"


def coordinates(client, study):
    """The exported coordinates of the learner, as bytes."""
    with np.load(io.BytesIO(client.get(f"/api/studies/{study}/export/kernel.npz").content)) as exported:
        return exported["kernel.B"].tobytes()


def live(client, study):
    return client.get(f"/api/studies/{study}/live").json()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found


def map_of(client, study, learned=0):
    """The map of a study, once so many answers are learned and nothing is left to learn."""

    def found():
        now = live(client, study)
        return now["map"] if now["learned"] >= learned == now["answers"] else None

    return until(found)["points"]


def distances(points):
    points = np.array(points)
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def test_features_are_a_map_before_the_first_answer_and_each_answer_changes_it(researcher, client, draft):
    reply = upload(researcher, draft, ("where.csv", CSV))
    assert reply.status_code == 200, reply.text
    assert reply.json() == {"features": [{"name": "where", "n_columns": 2, "n_objects": 6}], "notes": []}
    assert researcher.get(f"/api/studies/{draft}/features").json() == reply.json()["features"]
    before = map_of(researcher, draft)
    assert np.corrcoef(distances(before).ravel(), distances(POSITIONS).ravel())[0, 1] > 0.95
    [told] = live(researcher, draft)["features"]
    assert (told["name"], told["n_objects"], told["verdict"]) == ("where", 6, "is not judged yet")
    researcher.post(f"/api/studies/{draft}/state", json={"state": "open"})
    Somebody(client, draft).answer_all()
    n = live(researcher, draft)["answers"]
    assert map_of(researcher, draft, n) != before


def test_a_study_is_uploaded_with_its_features(researcher):
    rest = CSV.replace("Paris", "paris")
    files = [("files", ("names.txt", "\n".join(THINGS))), ("features", ("where.csv", rest))]
    files.append(("features", ("both.npz", npz_of({"size": POSITIONS[:, :1], "age": POSITIONS[:, 1:]}, THINGS))))
    reply = researcher.post("/api/studies/upload", files=files)
    assert reply.status_code == 201, reply.text
    found = researcher.get(f"/api/studies/{reply.json()['id']}/features").json()
    assert [(each["name"], each["n_objects"]) for each in found] == [("age", 6), ("size", 6), ("where", 5)]
    assert not missing(reply.json()["notes"], ["paris", "1 name"])


def test_names_that_only_look_the_same_are_pointed_out(researcher):
    composed, decomposed = "Caf\u00e9", "Cafe\u0301"
    files = [
        ("files", ("names.txt", "\n".join([*THINGS, decomposed]))),
        ("features", ("where.csv", f"{CSV}{composed},1,2\n")),
    ]
    reply = researcher.post("/api/studies/upload", files=files)
    assert reply.status_code == 201, reply.text
    assert not missing(reply.json()["notes"], ["1 name", "1 object", "Unicode"])


def test_the_model_is_that_of_the_log_with_features_whenever_they_were_added(researcher, client, store, draft):
    researcher.post(f"/api/studies/{draft}/state", json={"state": "open"})
    Somebody(client, draft).answer_all()
    n = live(researcher, draft)["answers"]
    map_of(researcher, draft, n)
    plain = coordinates(researcher, draft)
    upload(researcher, draft, ("where.csv", CSV))
    until(lambda: live(researcher, draft)["features"])
    fold = Fold(len(THINGS), store.features.all(draft))
    fold.learn(list(store.answers.log(draft)))
    # To the last bit.
    known = coordinates(researcher, draft)
    assert known == fold.learner.knowledge()._model.kernel.arrays()["B"].tobytes() != plain
    assert researcher.delete(f"/api/studies/{draft}/features/where").status_code == 204
    until(lambda: not live(researcher, draft)["features"])
    map_of(researcher, draft, n)
    assert coordinates(researcher, draft) == plain
    assert reason(researcher.delete(f"/api/studies/{draft}/features/where")) == "unknown"


def test_an_object_that_is_added_while_people_answer_gets_a_place_and_questions(researcher, client, draft):
    upload(researcher, draft, ("where.csv", CSV))
    researcher.post(f"/api/studies/{draft}/state", json={"state": "open"})
    ann = Somebody(client, draft)
    # So few answers hardly move Paris away from where the features say that it is.
    for _ in range(2):
        ann.answer(side=nearer(ann.question))
    beside = f"name,x,y\nParis,9,9\nNew,{POSITIONS[0, 0] + 0.01},{POSITIONS[0, 1]}\n"
    reply = add(researcher, draft, ["New", "Newer"], ("where.csv", beside))
    assert reply.status_code == 201, reply.text
    assert [each["name"] for each in reply.json()["objects"]] == [*THINGS, "New", "Newer"]
    # Paris was there before, so only the new object without a vector is worth a note.
    assert not missing(reply.json()["notes"], ["1 object", "Newer"])
    assert len(reply.json()["notes"]) == 1
    # The question that was on the screen is answered as if nothing had happened.
    until(lambda: ann.send(side=nearer(ann.question)).status_code == 200)
    points = until(lambda: len(map_of(researcher, draft, 3)) == 8 and map_of(researcher, draft, 3))
    apart = distances(points)[6, :6]
    assert apart.argmin() == 0
    assert apart[0] < 0.1 * np.median(apart)
    asked = set()
    bob = Somebody(client, draft)
    while not bob.reply["finished"]:
        question = bob.question
        asked |= {question[part]["name"] for part in ("anchor", "left", "right")}
        bob.answer()
    assert {"New", "Newer"} <= asked


def test_the_only_block_of_new_vectors_needs_no_name_if_the_study_has_only_one(researcher, store, draft):
    upload(researcher, draft, ("where.csv", CSV))
    assert add(researcher, draft, ["New"], ("anything.csv", "name,x,y\nNew,1,2\n")).status_code == 201
    assert store.features.all(draft)["where"][6].tolist() == [1.0, 2.0]
    upload(researcher, draft, ("file.csv", CSV))
    refused = add(researcher, draft, ["Newer"], ("anything.csv", "name,x,y\nNewer,1,2\n"))
    assert not missing(refused.json()["error"]["sentence"], ["anything", "where", "file"])


def test_objects_cannot_be_added_to_a_closed_study_nor_twice(researcher, draft):
    assert add(researcher, draft, ["New"]).status_code == 201
    again = add(researcher, draft, ["New"])
    assert again.status_code in (400, 422)
    assert not missing(again.json()["error"]["sentence"], ["New"])
    assert reason(add(researcher, draft, [])) == "invalid"
    researcher.post(f"/api/studies/{draft}/state", json={"state": "closed"})
    assert reason(add(researcher, draft, ["Newest"])) == "not-allowed"
    assert len(researcher.get(f"/api/studies/{draft}/objects").json()) == 7


def test_features_that_are_exported_can_be_uploaded_again(researcher, draft):
    assert reason(researcher.get(f"/api/studies/{draft}/export/features.npz")) == "not-allowed"
    upload(researcher, draft, ("where.csv", CSV), ("file.csv", CSV.replace("Oslo", "Bergen")))
    data = researcher.get(f"/api/studies/{draft}/export/features.npz").content
    before = researcher.get(f"/api/studies/{draft}/features").json()
    for block in ("where", "file"):
        researcher.delete(f"/api/studies/{draft}/features/{block}")
    assert researcher.get(f"/api/studies/{draft}/features").json() == []
    assert upload(researcher, draft, ("features.npz", data)).json()["features"] == before
    assert researcher.get(f"/api/studies/{draft}/export/features.npz").content == data


def test_a_copy_has_the_features_and_objects_of_a_draft_keep_theirs(researcher, store, draft):
    upload(researcher, draft, ("where.csv", CSV))
    copy = researcher.post(f"/api/studies/{draft}/duplicate").json()["id"]
    changes = [{"id": 5, "name": "Vienna"}, {"name": "New"}, {"id": 0, "name": "Paris"}]
    researcher.put(f"/api/studies/{copy}/objects", files=[("objects", (None, json.dumps(changes)))])
    found = store.features.all(copy)["where"]
    np.testing.assert_allclose(found[[0, 2]], POSITIONS[[5, 0]], rtol=1e-6)
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(store.features.all(draft)["where"], POSITIONS, rtol=1e-6)


def test_vectors_that_no_longer_say_anything_do_not_stop_the_learner(researcher, client, draft):
    """Only one object of the changed draft has a vector."""
    upload(researcher, draft, ("where.csv", CSV))
    changes = [{"id": 5, "name": "Vienna"}, {"name": "New"}, {"name": "Newer"}, {"name": "Newest"}]
    researcher.put(f"/api/studies/{draft}/objects", files=[("objects", (None, json.dumps(changes)))])
    researcher.post(f"/api/studies/{draft}/state", json={"state": "open"})
    ann = Somebody(client, draft)
    ann.answer()
    now = until(lambda: (now := live(researcher, draft))["learned"] and now)
    assert now["learner"]["stall"] is None
    assert now["features"] == []


def test_the_fold_does_not_depend_on_the_learners_of_other_studies():
    """Their fits limit the BLAS threads of the process meanwhile."""
    vectors = {"clip": np.random.default_rng(0).standard_normal((300, 90), np.float32)}
    with threadpool_limits(2):
        free = Fold(300, vectors).to_bytes(None)
        with one_thread(0):
            assert Fold(300, vectors).to_bytes(None) == free


def zeros(n):
    """An NPZ file that is small and unpacks to n numbers."""
    file = io.BytesIO()
    np.savez_compressed(file, big=np.zeros((6, n // 6), np.int8), names=np.array(THINGS))
    return file.getvalue()


ROW = CSV.splitlines()
BAD = {
    "not the objects": ("a.csv", "name,x\nBerlin,1\nBonn,2\n", ["a.csv", "Berlin", "Paris"]),
    "text": ("a.csv", CSV.replace(ROW[2], "Lyon,red,2"), ["line 3", "'red'"]),
    "gap": ("a.csv", CSV.replace(ROW[2], "Lyon,1,"), ["Lyon", "1"]),
    "infinity": ("a.csv", CSV.replace(ROW[2], "Lyon,inf,2"), ["infinity", "Lyon"]),
    "too large": ("a.csv", CSV.replace(ROW[2], "Lyon,1e39,2"), ["1e39", "3.4e+38"][1:]),
    "twice": ("a.csv", CSV + ROW[2] + "\n", ["Lyon", "twice"]),
    "constant": ("a.csv", "name,x\n" + "".join(f"{name},7\n" for name in THINGS), ["same vector"]),
    "one vector": ("a.csv", "name,x\nParis,7\n", ["1 vector;"]),
    "empty": ("a.csv", "", ["empty"]),
    "rows": ("a.npy", b"not an array", ["NPY"]),
    "pickle": ("a.npz", b"PK not a zip", ["damaged"]),
    "Parquet": ("a.parquet", b"PAR1", ["CSV"]),
    "bomb": ("a.npz", zeros(60_000_000), ["8,388,608"]),
    "reserved name": ("names.csv", CSV, ["'names'"]),
    "name of a folder": ("...csv", CSV, ["'..'"]),
    "blank name": (" .csv", CSV, ["' '"]),
    "long name": (f"{'a' * 101}.csv", CSV, ["100"]),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_used_is_refused_with_a_sentence(researcher, store, draft, case):
    name, data, words = BAD[case]
    reply = upload(researcher, draft, (name, data))
    assert (reply.status_code, reason(reply)) == (422, "invalid"), reply.text
    assert not missing(reply.json()["error"]["sentence"], words), reply.json()
    assert store.features.all(draft) == {}


def test_files_of_the_same_name_and_files_that_nobody_names_are_refused(researcher, store, draft):
    reply = upload(researcher, draft, ("where.csv", CSV), ("where.csv", CSV))
    assert reason(reply) == "invalid"
    assert not missing(reply.json()["error"]["sentence"], ["where.csv", "two files"])
    assert store.features.all(draft) == {}
    files = [("files", ("names.txt", "\n".join(THINGS)))]
    files += [("features", (name, CSV)) for name in ("where.csv", "other.csv")]
    before = len(researcher.get("/api/studies").json())
    reply = researcher.post("/api/studies/upload", data={"spec": "features: where.csv"}, files=files)
    assert reason(reply) == "invalid"
    assert not missing(reply.json()["error"]["sentence"], ["other.csv"])
    assert len(researcher.get("/api/studies").json()) == before


def test_new_objects_that_are_refused_leave_no_files_behind(researcher, store, draft):
    upload(researcher, draft, ("where.csv", CSV))
    picture = io.BytesIO()
    Image.new("L", (8, 8)).save(picture, "PNG")
    for data in ("name,x\nnew,1\n", "name,x,y\nnew,1,inf\n", "name,x,y\nnew,1,1e20\n", "name,x,y\nold,1,2\n"):
        files = [("files", ("new.png", picture.getvalue())), ("features", ("where.csv", data))]
        reply = researcher.post(f"/api/studies/{draft}/objects", files=files)
        assert reply.status_code in (400, 422), reply.text
        assert store.media.names(draft) == []
        assert store.studies.get(draft).n_objects == len(THINGS)


def test_too_many_numbers_are_refused(researcher, draft):
    wide = np.random.default_rng(0).standard_normal((6, 700_000)).astype(np.float16)
    assert upload(researcher, draft, ("a.npz", npz_of({"wide": wide}, THINGS))).status_code == 200
    reply = upload(researcher, draft, ("b.npz", npz_of({"other": wide}, THINGS)))
    assert reply.status_code == 400
    assert not missing(reply.json()["error"]["sentence"], [f"{32 << 20:,}"])


def test_nobody_else_sees_or_changes_features(researcher, stranger, client, draft):
    for each, status in ((stranger, 404), (client, 401)):
        assert upload(each, draft, ("where.csv", CSV)).status_code == status
        assert add(each, draft, ["New"]).status_code == status
        assert each.get(f"/api/studies/{draft}/features").status_code == status
        assert each.delete(f"/api/studies/{draft}/features/where").status_code == status
        assert each.get(f"/api/studies/{draft}/export/features.npz").status_code == status
