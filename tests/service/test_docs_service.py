"""The pages about the service document every setting, column and variable, and their examples run."""

import re
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

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
    """The code blocks of a language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), flags=re.MULTILINE | re.DOTALL)


def keys(value, prefix=""):
    """Every key of a mapping by its full name, such as limits.answers."""
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
    cells = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    documented = [name for cell in cells for name in cell.split("`")[1::2]]
    assert documented == [*header[:-1], "parameter.NAME"]


def test_the_documentation_has_every_variable_and_its_default():
    documented = dict(re.findall(r"^\| `(ERKLE_\w+)` \| (.*?) ?\|", page("operate/server.md"), flags=re.MULTILINE))
    prefix = Configuration.model_config["env_prefix"]
    fields = {f"{prefix}{name.upper()}": field.default for name, field in Configuration.model_fields.items()}
    assert documented == {name: shown(default) for name, default in fields.items()}


def shown(default):
    if isinstance(default, Rate):
        return f"{default.per_second:.12g}, {default.burst:.12g}"
    if isinstance(default, bool):
        return str(default).lower()
    return str(default) if default not in (None, "", ()) else ""


def test_the_documented_signature_opens_a_study(client, store, make):
    [recipe] = blocks("study/service.md", "py")
    study, names = make(identity_proof="signature"), {}
    exec(compile(recipe, "study/service.md", "exec"), names)
    for options in ({}, {"expires": int(time.time()) + 60}):
        link = names["signed_link"](store.studies.signing_key(study), "puid", "Zoë & 7", **options)
        parameters = dict(parse_qsl(urlsplit(link).query))
        reply = client.post(f"/api/take/{study}/join", json={"parameters": parameters, "consent": True})
        assert reply.status_code == 200, reply.text
    assert len(store.participants.all(study)) == 1


def test_the_python_examples_run(server, tmp_path, monkeypatch, capsys):
    study = open_study(server)
    monkeypatch.chdir(tmp_path)
    for example in blocks("study/own-front-end.md", "py"):
        exec(compile(for_server(example, server, study), "study/own-front-end.md", "exec"), {})
    assert "completed" in capsys.readouterr().out
    assert (tmp_path / "answers.csv").read_text().startswith("head,left,right,winner,loser")


def test_the_javascript_page_answers_all_questions_and_survives_a_reload(server, visiting):
    playwright = pytest.importorskip("playwright.sync_api")
    study = open_study(server)
    [html] = blocks("study/own-front-end.md", "html")
    tab = visiting(server.url)
    tab.route("**/own", lambda route: route.fulfill(body=for_server(html, server, study), content_type="text/html"))
    tab.goto("/own")
    # A click while an answer is being sent does nothing, so there are more clicks than questions.
    for press in range(400):
        if not tab.locator("#left").is_visible():
            break
        # The button disappears after the last answer, perhaps between the check and the click.
        with suppress(playwright.TimeoutError):
            tab.locator("#left").click(timeout=1000)
        tab.wait_for_timeout(50)
        if press == 2:
            tab.reload()
    tab.get_by_text("Thank you. Your code: DONE").wait_for()
    # The reload did not create a second participant.
    assert len(server.store.participants.all(study)) == 1


def for_server(example, server, study):
    """The example with the address of this server and the id of this study."""
    for address in ("http://127.0.0.1:8000", "https://study.example.org"):
        example = example.replace(address, server.url)
    return example.replace('"ID"', f'"{study}"')


def open_study(server):
    """The id of an open study with five questions and one practice question."""
    owner = server.store.accounts.create("ann", hashed(PASSWORD)).id
    changes = {"limits": {"per_participant": 5}, "endings": {"completed": {"code": "DONE"}}}
    return server.study(owner=owner, checks={"practice": 1}, **changes)
