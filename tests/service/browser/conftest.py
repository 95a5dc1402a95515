"""One server for all browser tests, pages whose clock the tests can move, and signed-in researchers."""

import itertools

import pytest
from listening import listening
from PIL import Image
from researching import SHADES, open_session

from erkle.service.accounts.passwords import hashed
from people import PASSWORD, THINGS, settings

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def site(tmp_path_factory, new_database):
    """A real server for all browser tests; each test has its own studies and accounts."""
    with listening(new_database(tmp_path_factory.mktemp("site") / "erkle.db").parent) as site:
        yield site


@pytest.fixture
def visitor(site, visiting):
    """Open a page in a new browser context: ``visitor()``. Its clock runs as usual, and tests can move it forward."""

    def visitor(**options):
        page = visiting(site.url, **options)
        page.clock.install()
        return page

    return visitor


@pytest.fixture
def new_page(site, visiting):
    """Open a page in a new browser context: ``new_page()``. Points of the map move at once."""
    return lambda **options: visiting(site.url, reduced_motion="reduce", **options)


@pytest.fixture
def account(site):
    """An account of this test, without the rights of an administrator."""
    return site.store.accounts.create(f"ann {next(_NUMBERS)}", hashed(PASSWORD))


@pytest.fixture
def admin(site):
    """An administrator's account of this test."""
    return site.store.accounts.create(f"admin {next(_NUMBERS)}", hashed(PASSWORD), admin=True)


@pytest.fixture
def draft(site, account):
    """The id of a draft that belongs to the account."""
    return site.store.studies.create("Cities", THINGS, settings(), owner=account.id).id


@pytest.fixture
def signed_in(site, new_page, account):
    """A page that is signed in to the account, at the list of studies."""
    page = new_page()
    open_session(site, page, account)
    page.goto("/studies")
    return page


@pytest.fixture
def pictures(tmp_path):
    """Files with a grey square of each shade."""
    paths = []
    for number, shade in enumerate(SHADES):
        paths.append(tmp_path / f"{shade}.png")
        Image.new("L", (40, 40), 63 * number).save(paths[-1])
    return paths
