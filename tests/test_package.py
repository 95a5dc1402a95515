"""Tests of `import erkle`: all public names are available, and the import stays light."""

import subprocess
import sys

import pytest

import erkle

LIGHT_IMPORTS = """
import sys

import erkle

print([name for name in ("numba", "sklearn", "matplotlib", "fastapi", "scipy") if name in sys.modules])

import erkle.service.accounts.passwords
import erkle.service.studies.editing

print([name for name in ("numba",) if name in sys.modules])
"""


@pytest.mark.parametrize("name", ["active", "client", "conflicts", "online", "triplets"])
def test_a_public_module_is_available_without_an_import(name):
    # In a new process `erkle.name` calls this function; here the module may already be an attribute.
    assert erkle.__getattr__(name).__name__ == f"erkle.{name}"


def test_everything_that_dir_lists_is_available():
    for name in dir(erkle):
        assert getattr(erkle, name) is not None


def test_importing_erkle_is_light_and_parts_of_the_service_load_no_learner():
    run = subprocess.run([sys.executable, "-c", LIGHT_IMPORTS], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "[]"]


def test_the_service_exports_create_app():
    from erkle.service import create_app

    assert callable(create_app)
