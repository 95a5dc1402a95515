"""The OpenAPI document is right, and no valid or invalid request breaks the service."""

import pytest
import schemathesis

# Now, not when it is first used: Python 3.11 sometimes cannot compile while a browser runs in the same thread.
import schemathesis.specs.openapi.schemas
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from erkle.service import Configuration, create_app
from erkle.service.accounts import passwords
from erkle.service.configuration import Rate
from erkle.store import State
from people import PASSWORD, THINGS
from people import settings as study_settings

_UNLIMITED = {"per_second": 0, "burst": 1}
_LIMITS = [name for name, rate in Configuration() if isinstance(rate, Rate)]
_FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


class Served:
    """A running application with an administrator, and a study that is created again when it is deleted."""

    def __init__(self, client):
        self.client, self.store = client, client.app.state.store
        self.account = self.store.accounts.create("ann", passwords.hashed(PASSWORD), admin=True)
        self.schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
        self.n_sent = 0

    def fill(self, case):
        """Put real ids into three of four requests, so that they reach the code behind the checks."""
        self.n_sent += 1
        if self.n_sent % 4 == 0:
            return
        study = self.open_study()
        if isinstance(case.path_parameters, dict) and "study" in case.path_parameters:
            case.path_parameters["study"] = study
        if isinstance(case.body, dict) and isinstance(case.body.get("participant"), str):
            case.body["participant"] = self.store.participants.join(study, {}).id

    def open_study(self):
        for study in self.store.studies.all():
            if study.state is State.OPEN and study.title == "Cities":
                return study.id
        study = self.store.studies.create("Cities", THINGS, study_settings(), owner=self.account.id)
        return self.store.studies.change_state(study.id, State.OPEN).id

    def signed_in(self):
        session = self.store.sessions.open(self.account.id, 3600)
        return {"Cookie": f"erkle_session={session.token}", "X-CSRF-Token": session.csrf}


@pytest.fixture(scope="module")
def served(tmp_path_factory, new_database):
    data = new_database(tmp_path_factory.mktemp("data") / "erkle.db").parent
    with TestClient(create_app(Configuration(data=data, **dict.fromkeys(_LIMITS, _UNLIMITED)))) as client:
        yield Served(client)


def operations():
    """Every operation of the document, except streams, which never end."""
    document = create_app(Configuration()).openapi()
    every = [(method, path) for path, methods in document["paths"].items() for method in methods]
    return [(method, path) for method, path in every if not path.endswith("/events")]


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "invalid"])
@pytest.mark.parametrize(("method", "path"), operations())
def test_nothing_that_is_sent_breaks_the_service(served, method, path, mode):
    """No response is a 5xx, and each has a status, a content type and a schema of the document."""
    operation = served.schema[path][method]
    headers = served.signed_in()
    # A valid request may still be refused, such as a weak password, and an invalid one may become valid with real ids.
    excluded = [CHECKS.get_one("positive_data_acceptance"), CHECKS.get_one("negative_data_rejection")]

    @_FEW
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case):
        served.fill(case)
        case.validate_response(case.call(headers=headers), excluded_checks=excluded)

    try:
        send()
    except BaseException as error:
        # There are no invalid requests if any value of a parameter is valid.
        if type(error).__name__ not in ("Unsatisfiable", "SkipTest", "Skipped"):
            raise


def test_every_operation_documents_the_security_it_needs(served):
    document = served.client.get("/openapi.json").json()
    assert set(document["components"]["securitySchemes"]) == {"session", "csrf"}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path.startswith(("/api/studies", "/api/import", "/api/accounts", "/api/me", "/api/password")):
                wanted = {"session": []} if method == "get" else {"session": [], "csrf": []}
                assert operation["security"] == [wanted], path
                assert {"401", "403"} <= set(operation["responses"]), path


def test_every_error_of_the_document_has_the_one_form(served):
    document = served.client.get("/openapi.json").json()
    assert "HTTPValidationError" not in str(document)
    # FastAPI puts the module into the name of two schemas of the same name.
    assert not [name for name in document["components"]["schemas"] if name.startswith("erkle__")]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation.get("summary"), path
            for status, response in operation["responses"].items():
                if status >= "400":
                    schema = response["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/ErrorOut"}, (path, status)


def test_every_tag_of_an_operation_is_described_and_every_described_tag_is_used(served):
    document = served.client.get("/openapi.json").json()
    used = {
        tag for methods in document["paths"].values() for operation in methods.values() for tag in operation["tags"]
    }
    assert used == {tag["name"] for tag in document["tags"]}
