"""Uploads leave room for answers."""

import shutil

import pytest
from in_use import answer

from erkle.store import Medium, NoRoom


def test_an_upload_leaves_room_for_answers(running, monkeypatch):
    store = running[0]
    free = shutil._ntuple_diskusage(10**12, 10**12 - 250_000_000, 250_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    store.studies.create("Small", list("ABC"), media={"a.png": Medium("image/png", b"x" * 2_000_000)})
    for upload in (
        lambda: store.studies.create("Large", list("ABC"), media={"a.png": Medium("image/png", b"x" * 30_000_000)}),
        lambda: store.check_room(30_000_000),
    ):
        with pytest.raises(NoRoom, match=r"250 MB .* 60 MB, and 200 MB"):
            upload()
    answer(*running)
    assert [each.title for each in store.studies.all()] == ["Letters", "Small"]
