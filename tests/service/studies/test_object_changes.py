"""The objects of a draft can be replaced, until the study is opened or has answers."""

import io
import json

import pytest
from PIL import Image

from erkle.service.studies import objects as reading
from erkle.store import Imported, State
from people import THINGS, missing, reason


def picture(shade):
    """A picture of one colour, as a file."""
    file = io.BytesIO()
    Image.new("L", (8, 8), shade).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def pictured(researcher):
    """The id of a draft with four pictures: p0 to p3."""
    files = [("files", (f"p{number}.png", picture(60 * number), "image/png")) for number in range(4)]
    return researcher.post("/api/studies/upload", data={"spec": '{"title": "Shades"}'}, files=files).json()["id"]


def put(client, study, objects, files=(), **headers):
    sent = [("files", (name, data)) for name, data in files]
    # Without files, httpx would not send multipart/form-data.
    body = (
        {"data": {"objects": json.dumps(objects)}, "files": sent}
        if sent
        else {"files": [("objects", (None, json.dumps(objects)))]}
    )
    return client.put(f"/api/studies/{study}/objects", headers=headers, **body)


def objects(client, study):
    return client.get(f"/api/studies/{study}/objects").json()


def kept(client, study):
    """All objects of a study, as changes that keep them."""
    return [{"id": each["id"], "name": each["name"]} for each in objects(client, study)]


def test_objects_are_kept_renamed_removed_and_added(researcher, store, pictured):
    before = objects(researcher, pictured)
    changes = [{"id": 2, "name": "two", "text": "the second"}, {"id": 0, "name": "p0"}, {"name": "a word"}]
    answer = put(researcher, pictured, changes, [("new.png", picture(255))])
    assert answer.status_code == 200, answer.text
    after = objects(researcher, pictured)
    assert after == answer.json()
    assert [(each["id"], each["name"], each["text"]) for each in after] == [
        (0, "two", "the second"),
        (1, "p0", None),
        (2, "a word", None),
        (3, "new", None),
    ]
    assert [each["image"] for each in after[:3]] == [before[2]["image"], before[0]["image"], None]
    assert store.studies.get(pictured).n_objects == 4
    # The files of the removed objects are gone, and no others.
    wanted = {each[part].rpartition("/")[2] for each in after for part in ("image", "thumb") if each[part]}
    assert set(store.media.names(pictured)) == wanted
    assert researcher.get(after[3]["image"]).status_code == 200


def test_a_new_file_replaces_that_of_its_kind_and_keeps_the_others(researcher, pictured):
    before = objects(researcher, pictured)
    changes = kept(researcher, pictured)
    changes[1]["image"], changes[2]["audio"] = "other.png", "bell.mp3"
    files = [("other.png", picture(10)), ("bell.mp3", b"ID3" + b"\0" * 100)]
    after = put(researcher, pictured, changes, files).json()
    assert len(after) == 4
    assert after[1]["image"] != before[1]["image"]
    assert after[1]["thumb"] != before[1]["thumb"]
    assert after[2]["image"] == before[2]["image"]
    assert after[2]["audio"].endswith(".mp3")


def test_a_new_file_may_be_as_large_as_in_a_new_study(researcher, draft):
    file = io.BytesIO()
    Image.effect_noise((1200, 1200), 100).save(file, "PNG")
    assert len(file.getvalue()) > 1_000_000
    answer = put(researcher, draft, kept(researcher, draft), [("noise.png", file.getvalue())])
    assert answer.status_code == 200, answer.text


def test_the_preview_of_a_draft_asks_about_its_new_objects(researcher, draft):
    assert researcher.get(f"/api/studies/{draft}/preview").json()["questions"]
    names = ["a", "b", "c", "d", "e", "f", "g"]
    assert put(researcher, draft, [{"name": name} for name in names]).status_code == 200
    questions = researcher.get(f"/api/studies/{draft}/preview").json()["questions"]
    asked = {question[part]["name"] for question in questions for part in ("anchor", "left", "right")}
    assert asked == set(names)


def with_catch(client, draft):
    catch = dict(zip(("anchor", "near", "far"), THINGS[:3], strict=True))
    assert client.patch(f"/api/studies/{draft}", json={"settings": {"checks": {"catch": [catch]}}}).status_code == 200


def catches(client, draft):
    return client.get(f"/api/studies/{draft}").json()["settings"]["checks"]["catch"]


def test_catch_questions_follow_the_objects_that_are_renamed(researcher, draft):
    with_catch(researcher, draft)
    changes = kept(researcher, draft)
    # Two objects swap their names.
    changes[0]["name"], changes[1]["name"] = changes[1]["name"], changes[0]["name"]
    changes[2]["name"] = "Barcelona"
    assert put(researcher, draft, changes).status_code == 200
    assert catches(researcher, draft) == [{"anchor": THINGS[1], "near": THINGS[0], "far": "Barcelona"}]
    assert researcher.post(f"/api/studies/{draft}/state", json={"state": "open"}).status_code == 200


def test_an_object_in_a_catch_question_is_not_removed(researcher, draft):
    with_catch(researcher, draft)
    before = objects(researcher, draft)
    answer = put(researcher, draft, [*kept(researcher, draft)[1:], {"name": "Oslo"}])
    assert (answer.status_code, reason(answer)) == (422, "invalid")
    assert missing(answer.json()["error"]["sentence"], [repr(THINGS[0]), "catch question 1"]) == []
    assert objects(researcher, draft) == before
    # A new object of the same name takes its place.
    assert put(researcher, draft, [*kept(researcher, draft)[1:], {"name": THINGS[0]}]).status_code == 200
    assert catches(researcher, draft)[0]["anchor"] == THINGS[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([{"name": "a"}, {"name": "b"}], ["2 objects"]),
        ([{"name": "a"}, {"name": "b"}, {"name": "a"}], ["'a'", "1 and 3"]),
        ([{"name": "a"}, {"name": "  "}, {"name": "c"}], ["objects[1].name"]),
        ([{"id": 0, "name": "a"}, {"id": 0, "name": "b"}, {"name": "c"}], ["objects[1].id"]),
        ([{"id": 99, "name": "a"}, {"name": "b"}, {"name": "c"}], ["objects[0].id", "99"]),
        ([{"name": "a", "image": "nowhere.png"}, {"name": "b"}, {"name": "c"}], ["nowhere.png"]),
        ([{"name": "a", "colour": "red"}, {"name": "b"}, {"name": "c"}], ["colour"]),
        ("no list", ["objects"]),
    ],
)
def test_invalid_objects_change_nothing(researcher, draft, changes, words):
    before = objects(researcher, draft)
    answer = put(researcher, draft, changes)
    assert answer.status_code == 422
    assert missing(answer.json()["error"]["sentence"], words) == []
    assert objects(researcher, draft) == before


def test_a_file_that_cannot_be_shown_changes_nothing(researcher, store, pictured):
    before, names = objects(researcher, pictured), store.media.names(pictured)
    files = [("good.png", picture(99)), ("broken.png", b"\x89PNG broken")]
    answer = put(researcher, pictured, kept(researcher, pictured), files)
    assert answer.status_code == 422
    assert "broken.png" in answer.json()["error"]["sentence"]
    assert (objects(researcher, pictured), store.media.names(pictured)) == (before, names)


def test_refused_changes_leave_no_files_behind(researcher, store, pictured):
    names, changes = store.media.names(pictured), kept(researcher, pictured)
    with_file = {"name": "new", "image": "new.png"}
    refused = [
        ([*changes, with_file, {"name": "p0"}], {}),
        ([*changes, with_file, {"id": 99, "name": "x"}], {}),
        ([*changes, {**with_file, "text": "a\0b"}], {}),
        ([*changes, with_file], {"If-Match": '"older"'}),
    ]
    for sent, headers in refused:
        answer = put(researcher, pictured, sent, [("new.png", picture(99))], **headers)
        assert 400 <= answer.status_code < 500
        assert store.media.names(pictured) == names


def test_files_that_are_replaced_or_removed_leave_room_for_others(researcher, store, pictured, monkeypatch):
    before = sum(store.media.sizes(pictured).values())
    monkeypatch.setattr(reading, "_MEDIA_BYTES", before + before // 8)
    replaced = [{**each, "image": f"{each['id']}.png"} for each in kept(researcher, pictured)]
    new = [(f"{number}.png", picture(60 * number + 30)) for number in range(4)]
    assert put(researcher, pictured, replaced, new).status_code == 200
    swapped = [*kept(researcher, pictured)[1:], {"name": "another", "image": "another.png"}]
    assert put(researcher, pictured, swapped, [("another.png", picture(99))]).status_code == 200
    too_many = [*kept(researcher, pictured), {"name": "more", "image": "more.png"}]
    refused = put(researcher, pictured, too_many, [("more.png", picture(88))])
    assert refused.status_code == 422
    assert "more.png" in refused.json()["error"]["sentence"]
    assert sum(store.media.sizes(pictured).values()) <= before + before // 8


def test_long_names_and_texts_of_many_objects_are_one_field(researcher, draft):
    changes = [*kept(researcher, draft), *({"name": f"{number} {'x' * 300}"} for number in range(6000))]
    assert put(researcher, draft, changes).status_code == 200
    assert len(objects(researcher, draft)) == len(changes)
    refused = put(researcher, draft, [{"name": "a", "text": "x" * 5_000_000}])
    assert (refused.status_code, reason(refused)) == (400, "unreadable")
    assert missing(refused.json()["error"]["sentence"], ["4 MB", "text file"]) == []


def test_changes_to_objects_that_somebody_else_has_changed_are_refused(researcher, draft):
    listed = researcher.get(f"/api/studies/{draft}/objects")
    mine = [{"id": each["id"], "name": each["name"]} for each in listed.json()]
    etag = {"If-Match": listed.headers["etag"]}
    first = put(researcher, draft, mine[1:], **etag)
    assert first.status_code == 200
    late = put(researcher, draft, mine[:-1], **etag)
    assert (late.status_code, reason(late)) == (412, "changed")
    assert [each["name"] for each in objects(researcher, draft)] == [each["name"] for each in mine[1:]]
    assert put(researcher, draft, kept(researcher, draft), **{"If-Match": first.headers["etag"]}).status_code == 200


def test_only_drafts_without_answers_change_their_objects(researcher, stranger, store, draft):
    changes = kept(researcher, draft)
    assert put(stranger, draft, changes).status_code == 404
    store.imports.append(draft, [Imported("ann", 0, 1, 2)])
    refused = put(researcher, draft, changes, [("new.png", picture(9))])
    assert (refused.status_code, reason(refused)) == (409, "not-allowed")
    copy = researcher.post(f"/api/studies/{draft}/duplicate").json()["id"]
    assert put(researcher, copy, changes).status_code == 200
    store.studies.change_state(copy, State.OPEN)
    assert put(researcher, copy, changes, [("new.png", picture(9))]).status_code == 409
    assert store.media.names(copy) == store.media.names(draft) == []


def test_a_duplicate_has_the_objects_media_and_settings_but_no_answers(researcher, admin, store, pictured):
    researcher.patch(f"/api/studies/{pictured}", json={"settings": {"holdout": 0.25, "checks": {"practice": 0}}})
    store.studies.change_state(pictured, State.OPEN)
    store.imports.append(pictured, [Imported("ann", 0, 1, 2)] * 3)
    store.studies.change_state(pictured, State.CLOSED)
    made = admin.post(f"/api/studies/{pictured}/duplicate")
    assert made.status_code == 201
    source, copy = store.studies.get(pictured), store.studies.get(made.json()["id"])
    assert (copy.state, copy.settings, copy.n_objects) == (State.DRAFT, source.settings, 4)
    assert copy.title == source.title
    assert copy.owner == admin.get("/api/me").json()["account"]["id"] != source.owner
    assert store.studies.objects(copy.id) == store.studies.objects(source.id)
    assert [store.media.get(copy.id, name) for name in store.media.names(copy.id)] == [
        store.media.get(source.id, name) for name in store.media.names(source.id)
    ]
    assert store.studies.counts(copy.id).answers == 0
    assert store.studies.signing_key(copy.id) != store.studies.signing_key(source.id)
    # The copy has its own files.
    assert admin.delete(f"/api/studies/{pictured}").status_code == 204
    assert admin.get(objects(admin, copy.id)[0]["image"]).status_code == 200


def test_a_duplicate_may_have_another_title(researcher, draft):
    path, long = f"/api/studies/{draft}/duplicate", "x" * 500
    assert researcher.post(path, json={"title": long}).json()["title"] == long
    for title in ("", long + "x", "a\0b"):
        assert 400 <= researcher.post(path, json={"title": title}).status_code < 500
    assert len(researcher.get("/api/studies").json()) == 2


def test_studies_of_others_are_not_duplicated(stranger, draft):
    assert stranger.post(f"/api/studies/{draft}/duplicate").status_code == 404
    assert stranger.get("/api/studies").json() == []
