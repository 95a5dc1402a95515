"""One server for all browser tests, and pages whose clock the tests can move."""

import pytest
from listening import listening


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
