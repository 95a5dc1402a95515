"""Tests of downloads: a file is complete and checked, or not kept; and a folder of the user is only read."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from erkle.datasets import CATALOGUE, load
from erkle.datasets.catalogue import Source
from erkle.files import FileError
from made_up import CARS, NOBODY, PUBLISHED, ZAPPOS, check, publish, sha256, zipped

pytestmark = [
    pytest.mark.usefixtures("cache"),
    pytest.mark.filterwarnings(r"ignore:.*download the files again:UserWarning"),
]


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        if self.server.failures:
            self.server.failures -= 1
            self.send_error(503)
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """A web server for a folder. It records requests and simulates a number of failures."""
    (tmp_path / "web").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path / "web")) as server:
        server.folder, server.requests, server.failures = tmp_path / "web", [], 0
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_missing_data_set_is_downloaded_once_into_the_cache(server, cache, monkeypatch):
    (server.folder / "survey_data.csv").write_bytes(CARS)
    publish(monkeypatch, "cars60", Source(f"{server.url}/survey_data.csv", sha256(CARS)))
    check(load("cars60"), "cars60")
    check(load("cars60"), "cars60")
    assert server.requests == ["/survey_data.csv"]
    assert [path.name for path in (cache / "cars60").iterdir()] == ["survey_data.csv"]
    assert (cache / "cars60" / "survey_data.csv").stat().st_mode & 0o777 == 0o644


def test_an_archive_with_two_data_sets_is_downloaded_once(server, cache, monkeypatch):
    files = {f"{name}/{name}_triplets.txt": PUBLISHED[name][0][f"{name}_triplets.txt"] for name in ("nature", "vogue")}
    archive = zipped(files)
    (server.folder / "nature_and_vogue_triplets.zip").write_bytes(archive)
    source = Source(f"{server.url}/nature_and_vogue_triplets.zip", sha256(archive))
    for name in ("nature", "vogue"):
        publish(monkeypatch, name, source)
        check(load(name), name)
    assert server.requests == ["/nature_and_vogue_triplets.zip"]


def test_all_files_of_a_data_set_are_downloaded(server, cache, monkeypatch):
    entry = CATALOGUE["aset400"]
    parts = []
    for part in entry.parts:
        content = PUBLISHED["aset400"][0][part.name]
        (server.folder / part.name).write_bytes(content)
        parts.append(part._replace(sources=(Source(f"{server.url}/{part.name}", sha256(content)),)))
    monkeypatch.setitem(CATALOGUE, "aset400", entry._replace(parts=tuple(parts)))
    check(load("aset400"), "aset400")
    assert len(server.requests) == 2


def test_a_folder_of_the_user_is_only_read(server, cache, tmp_path, monkeypatch):
    (server.folder / "survey_data.csv").write_bytes(CARS)
    publish(monkeypatch, "cars60", Source(f"{server.url}/survey_data.csv", sha256(CARS)))
    (tmp_path / "mine").mkdir()
    check(load("cars60", tmp_path / "mine"), "cars60")
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_failed_download_is_tried_again(server, monkeypatch):
    (server.folder / "survey_data.csv").write_bytes(CARS)
    publish(monkeypatch, "cars60", Source(f"{server.url}/survey_data.csv", sha256(CARS)))
    server.failures = 2
    check(load("cars60"), "cars60")
    assert len(server.requests) == 3


def test_the_next_source_is_tried_if_one_fails(server, monkeypatch):
    (server.folder / "survey_data.csv").write_bytes(CARS)
    publish(
        monkeypatch,
        "cars60",
        Source(f"{NOBODY}/60_cars_data.zip", sha256(b"")),
        Source(f"{server.url}/survey_data.csv", sha256(CARS)),
    )
    check(load("cars60"), "cars60")


def test_a_file_with_another_checksum_is_refused_and_not_kept(server, cache, monkeypatch):
    (server.folder / "survey_data.csv").write_bytes(CARS + b"1,2,2,5,9,3.5\n")
    publish(monkeypatch, "cars60", Source(f"{server.url}/survey_data.csv", sha256(CARS)))
    with pytest.raises(FileError, match="SHA-256") as caught:
        load("cars60")
    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_a_warning_says_that_no_checksum_is_known(server, monkeypatch):
    archive = zipped({"deconflicted_triplets.csv": ZAPPOS})
    (server.folder / "deconflicted_triplets.csv.zip").write_bytes(archive)
    publish(monkeypatch, "zappos85", Source(f"{server.url}/deconflicted_triplets.csv.zip", None))
    with pytest.warns(UserWarning, match="no known checksum"):
        check(load("zappos85"), "zappos85")
    check(load("zappos85"), "zappos85")


@pytest.mark.parametrize("file", ["deconflicted_triplets.csv.zip", "deconflicted_triplets.csv"])
@pytest.mark.filterwarnings("ignore:.*no known checksum")
def test_a_web_page_instead_of_a_file_is_refused_even_without_a_checksum(file, server, cache, monkeypatch):
    (server.folder / file).write_bytes(b"\n<!DOCTYPE html><p>Please log in.</p>")
    publish(monkeypatch, "zappos85", Source(f"{server.url}/{file}", None))
    with pytest.raises(FileError, match="another kind of file"):
        load("zappos85")
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("name", ["cars60", "nature"])
def test_without_a_network_the_error_says_which_file_to_put_where(name, cache, monkeypatch):
    sources = CATALOGUE[name].parts[0].sources
    publish(monkeypatch, name, *(source._replace(url=f"{NOBODY}/{source.file}") for source in sources))
    with pytest.raises(FileError) as caught:
        load(name)
    said = str(caught.value)
    assert "\n" not in said
    for wanted in ("no connection", "ERKLE_DATA", "--data", str(cache), CATALOGUE[name].parts[0].name, NOBODY):
        assert wanted in said
    assert list(cache.iterdir()) == []


def test_a_missing_file_is_reported_with_the_status(server, monkeypatch):
    publish(monkeypatch, "cars60", Source(f"{server.url}/gone/survey_data.csv", sha256(CARS)))
    with pytest.raises(FileError, match="404"):
        load("cars60")


def test_a_cache_that_cannot_be_written_is_reported_with_its_path(cache):
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where a folder should be")
    with pytest.raises(OSError, match="cannot be written") as caught:
        load("cars60")
    assert str(cache) in caught.value.strerror
    assert "ERKLE_DATA" in caught.value.strerror


def test_every_source_has_a_checksum_or_its_answers_do():
    for entry in CATALOGUE.values():
        for part in entry.parts:
            assert part.sources
            for source in part.sources:
                assert source.url.startswith(("http://", "https://"))
                assert source.sha256 is None or len(bytes.fromhex(source.sha256)) == 32
                assert source.sha256 or entry.digest
