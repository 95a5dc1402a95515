"""The pages about the service say what it does: every setting, column and variable is there, and the examples run."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from erkle.service import Configuration
from erkle.service.accounts.passwords import hashed
from erkle.service.configuration import Rate
from erkle.service.exchange.exporting import answers_csv
from erkle.service.studies.reading import read_study
from erkle.store import Query
from people import PASSWORD

DOCS = Path(__file__).parents[2] / "docs"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(name, language):
    """The fenced blocks of a language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), flags=re.MULTILINE | re.DOTALL)


def keys(value, prefix=""):
    """Every key of a mapping by its whole name, as limits.answers."""
    inner = {f"{prefix}{key}": each for key, each in value.items()}
    return set(inner).union(*(keys(each, f"{name}.") for name, each in inner.items() if isinstance(each, dict)))


def test_the_study_in_the_documentation_can_be_created_and_has_every_setting(tmp_path):
    [text] = blocks("study/service.md", "yaml")
    (tmp_path / "STUDY.yaml").write_text(text, encoding="utf-8")
    draft = read_study(tmp_path / "STUDY.yaml")
    assert (draft.title, len(draft.objects)) == ("Fruit and vegetables", 6)
    assert keys(yaml.safe_load(text)) == keys(draft.settings.model_dump(mode="json")) | {"title", "objects"}


def test_the_documentation_has_every_column_of_the_answers(store, study):
    person = store.participants.join(study, {"PROLIFIC_PID": "x"}).id
    [asked] = store.questions.issue(study, person, [Query(0, 1, 2)])
    store.answers.submit(study, person, asked.token, 1)
    header = "".join(answers_csv(store, store.studies.get(study))).splitlines()[0].split(",")
    table = page("study/service.md").partition("| Column |")[2].partition("\n\n")[0]
    told = [name for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE) for name in row.split("`")[1::2]]
    assert told == [*header[:-1], "parameter.NAME"]


def test_the_documentation_has_every_variable_and_its_default():
    told = dict(re.findall(r"^\| `(ERKLE_\w+)` \| (.*?) ?\|", page("operate/server.md"), flags=re.MULTILINE))
    prefix = Configuration.model_config["env_prefix"]
    fields = {f"{prefix}{name.upper()}": field.default for name, field in Configuration.model_fields.items()}
    assert told == {name: shown(default) for name, default in fields.items()}


def shown(default):
    if isinstance(default, Rate):
        return f"{default.per_second:g}, {default.burst:g}"
    if isinstance(default, bool):
        return str(default).lower()
    return str(default) if default not in (None, "", ()) else ""


def test_the_examples_in_python_run(server, tmp_path, monkeypatch, capsys):
    study = prepared(server)
    monkeypatch.chdir(tmp_path)
    for example in blocks("study/own-front-end.md", "py"):
        exec(compile(placed(example, server, study), "study/own-front-end.md", "exec"), {})
    assert "completed" in capsys.readouterr().out
    assert (tmp_path / "answers.csv").read_text().startswith("head,left,right,winner,loser")


def test_the_page_in_javascript_takes_part_and_survives_a_reload(server, visiting):
    playwright = pytest.importorskip("playwright.sync_api")
    study = prepared(server)
    [html] = blocks("study/own-front-end.md", "html")
    tab = visiting(server.url)
    tab.route("**/own", lambda route: route.fulfill(body=placed(html, server, study), content_type="text/html"))
    tab.goto("/own")
    # Clicks while an answer is on its way do nothing.
    for press in range(400):
        if not tab.locator("#left").is_visible():
            break
        # After the last answer it goes away, be it between the look and the click.
        with suppress(playwright.TimeoutError):
            tab.locator("#left").click(timeout=1000)
        tab.wait_for_timeout(50)
        if press == 2:
            tab.reload()
    tab.get_by_text("Thank you. Your code: DONE").wait_for()
    # After the reload it is still the same person.
    assert len(server.store.participants.all(study)) == 1


def placed(example, server, study):
    """An example for this server and this study."""
    for place in ("http://127.0.0.1:8000", "https://study.example.org"):
        example = example.replace(place, server.url)
    return example.replace('"ID"', f'"{study}"')


def prepared(server):
    """The id of an open study of five questions and one for practice."""
    owner = server.store.accounts.create("ann", hashed(PASSWORD)).id
    changes = {"limits": {"per_participant": 5}, "endings": {"completed": {"code": "DONE"}}}
    return server.study(owner=owner, checks={"practice": 1}, **changes)
