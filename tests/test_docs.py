"""The documentation agrees with the program: options, defaults, losses, steps and pages.

The `conftest.py` in the root folder runs the examples of each page.
"""

import importlib
import operator
import re
import tomllib
from pathlib import Path

import pytest
import typer.main

import erkle
from erkle.cli.app import app
from erkle.losses import LOSSES
from erkle.steps import STEPS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def commands(group, prefix=""):
    """Every command by its full name, such as `data list`."""
    found = {}
    for name, command in group.commands.items():
        found |= commands(command, f"{prefix}{name} ") if hasattr(command, "commands") else {prefix + name: command}
    return found


COMMANDS = commands(typer.main.get_command(app))

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# Options of other programs on the pages.
OTHERS = {"--memory-limit", "--nworkers", "--nthreads"}


def options(command):
    return {name: p for p in COMMANDS[command].params for name in p.opts if name.startswith("--") and name != "--help"}


def section(page, heading):
    return re.split(r"^##+ ", page.read_text(encoding="utf-8").partition(f"# {heading}\n")[2], flags=re.MULTILINE)[0]


def rows(text):
    """The option and the default of each row of the tables of options."""
    return dict(re.findall(r"^\| `(--[a-z-]+)` \| (.*?) ?\|", text, flags=re.MULTILINE))


def shown(default):
    if default is None:
        return ""
    return "no" if default is False else f"{default:g}" if isinstance(default, float) else str(default)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_page_has_every_option_and_no_other(command):
    assert set(rows(section(DOCS / "command-line.md", f"erkle {command}"))) == set(options(command))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_page_has_the_defaults(command):
    documented = rows(section(DOCS / "command-line.md", f"erkle {command}"))
    assert {name: default.strip("`") for name, default in documented.items()} == {
        name: shown(option.default) for name, option in options(command).items()
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_only_options_that_exist(page):
    known = {"--help", "--version"}.union(OTHERS, *map(options, COMMANDS))
    assert set(OPTION.findall(page.read_text(encoding="utf-8"))) <= known


@pytest.mark.parametrize("name", [*LOSSES, *STEPS])
def test_the_exact_kernel_page_has_every_loss_and_step_by_both_names(name):
    part = {**LOSSES, **STEPS}[name]
    text = (DOCS / "understand/exact-kernel.md").read_text(encoding="utf-8")
    written = ", ".join(f"{field}={value:g}" for field, value in part._field_defaults.items())
    assert re.search(rf"^\| `{part.__name__}\({re.escape(written)}\)` \| `{name}[:`]", text, flags=re.MULTILINE)


def test_every_page_is_in_the_navigation():
    navigation = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    assert sorted(re.findall(r"[\w/-]+\.md", str(navigation))) == sorted(
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")
    )


def architecture(name):
    """The (file, member) pairs that the architecture page or its drawing names. The member may be empty."""
    text = (DOCS / name).read_text(encoding="utf-8")
    return re.findall(r"([\w/]+\.py)(?:::([\w.]+))?", text)


@pytest.mark.parametrize("name", ["understand/architecture.md", "images/life-of-an-answer.svg"])
def test_the_architecture_page_names_only_what_exists(name):
    found = architecture(name)
    assert len(found) > 10
    for file, member in found:
        module = importlib.import_module("erkle." + file.removesuffix(".py").replace("/", "."))
        assert not member or operator.attrgetter(member)(module) is not None, f"{file}::{member}"


def test_the_architecture_page_has_every_step_of_its_drawing():
    assert set(architecture("images/life-of-an-answer.svg")) <= {*architecture("understand/architecture.md")}


def test_the_changelog_has_this_version():
    assert f"\n## {erkle.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_has_a_placeholder(page):
    assert "<!--" not in page.read_text(encoding="utf-8")
