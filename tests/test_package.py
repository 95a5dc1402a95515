"""Laws of `import erkle`: what is public can be had from it, and importing it stays light."""

import subprocess
import sys

import pytest

import erkle


def in_a_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", ["active", "client", "conflicts", "online", "triplets"])
def test_a_public_module_needs_no_import_of_its_own(name):
    assert in_a_new_process(f"import erkle; print(erkle.{name}.__name__)") == f"erkle.{name}"


def test_everything_listed_can_be_had():
    for name in dir(erkle):
        assert getattr(erkle, name) is not None


def test_importing_erkle_loads_nothing_heavy():
    heavy = "numba", "sklearn", "matplotlib", "fastapi", "scipy"
    assert in_a_new_process(f"import sys, erkle; print([n for n in {heavy} if n in sys.modules])") == "[]"


def test_a_part_of_the_service_loads_no_learner():
    code = "import sys, erkle.service.accounts.passwords, erkle.service.studies.editing; print('numba' in sys.modules)"
    assert in_a_new_process(code) == "False"
    assert in_a_new_process("from erkle.service import create_app; print(callable(create_app))") == "True"
