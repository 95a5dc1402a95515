"""A data set that is small enough to be asked to its end."""

import numpy as np
import pytest

from erkle import triplets


@pytest.fixture(scope="session")
def shoes(tmp_path_factory):
    """A folder with 90 answers about 7 objects, some of them repeated or contradicted, under the name of zappos85."""
    folder = tmp_path_factory.mktemp("data") / "zappos85"
    folder.mkdir()
    T = triplets.sample(7, 60, 0)
    T = np.concatenate([T, T[:20], T[:10, [0, 2, 1]]])
    (folder / "objects.csv").write_text("id,name\n" + "".join(f"{i},shoe {i}\n" for i in range(7)))
    (folder / "triplets.csv").write_text("anchor,near,far\n" + "".join(f"{a},{b},{c}\n" for a, b, c in T.tolist()))
    return folder.parent


@pytest.fixture(scope="session")
def to_learn(shoes):
    """The answers of a seed that are not kept for the test."""
    rows = np.loadtxt(shoes / "zappos85" / "triplets.csv", int, delimiter=",", skiprows=1)
    return lambda seed: triplets.split(rows, 0.2, seed)[0]
