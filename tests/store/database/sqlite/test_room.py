"""Uploads leave room for answers."""

import shutil

import pytest
from in_use import answer

from erkle.store import Imported, Medium, NoRoom, Store
from with_media import study_with_media


def test_the_disk_of_a_linked_database_is_that_of_the_real_file(sqlite, tmp_path, monkeypatch):
    (tmp_path / "link.db").symlink_to(sqlite)
    little, much = (shutil._ntuple_diskusage(10**12, 10**12 - free, free) for free in (10**7, 10**11))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: little if folder == sqlite.parent else much)
    with Store(tmp_path / "link.db") as store, pytest.raises(NoRoom):
        store.check_room(30_000_000)


def test_an_upload_leaves_room_for_answers(running, monkeypatch):
    store, study, _ = running
    free = shutil._ntuple_diskusage(10**12, 10**12 - 250_000_000, 250_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    study_with_media(store, "Small", list("ABC"), media={"a.png": Medium("image/png", b"x" * 2_000_000)})
    for upload in (
        lambda: store.unfinished.create("Large", list("ABC"), n_bytes=30_000_000).__enter__(),
        lambda: store.imports.append(study, [Imported("p", 0, 1, 2)] * 30_000),
        lambda: store.check_room(30_000_000),
    ):
        with pytest.raises(NoRoom, match=r"250 MB .* MB, and 200 MB"):
            upload()
    answer(*running)
    assert [each.title for each in store.studies.all()] == ["Letters", "Small"]
