"""The application as a whole: what it needs, and how it starts and ends."""

import stat
import subprocess
import sys
import threading

from fastapi.testclient import TestClient

from erkle.service import Configuration, create_app
from erkle.service.web.pages import PAGES, STATIC
from erkle.service.web.shutdown import Shutdown
from erkle.store import Store


def test_without_the_extra_the_error_says_what_to_install():
    code = "import sys; sys.modules['fastapi'] = None; import erkle.service"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'erkle[service]'" in result.stderr


def test_importing_erkle_does_not_import_the_service():
    code = "import sys, erkle; sys.exit('fastapi' in sys.modules or 'sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_page_exists():
    assert [page for page in PAGES.values() if not (STATIC / page).is_file()] == []


def test_only_the_operator_can_read_the_data_folder(tmp_path):
    with TestClient(create_app(Configuration(data=tmp_path / "new"))):
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_an_application_can_be_restarted_with_its_data(tmp_path):
    for _ in range(2):
        with TestClient(create_app(Configuration(data=tmp_path))) as client:
            assert client.get("/health").status_code == 200


def test_a_shutdown_is_bounded_before_it_waits_for_a_thread(tmp_path, monkeypatch):
    is_bounded, found = threading.Event(), []
    monkeypatch.setattr(Shutdown, "end_soon", lambda self: is_bounded.set())
    # A recovery that lasts until then.
    monkeypatch.setattr(Store, "recover", lambda self: found.append(is_bounded.wait(20)))
    with TestClient(create_app(Configuration(data=tmp_path))):
        pass
    assert found == [True]
