"""Laws of learning with features: what they change, what they must not change, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone

from erkle import ERKLE, Dense, LowRank
from made_up_features import answers, points, vectors
from parts import state

N = 30
X = points(N)
F = vectors(X)
TEST = answers(X, 3000, seed=77)


def learner(**parameters):
    return ERKLE(N, random_state=0, **{"features": F, **parameters})


def test_before_any_answer_similar_features_are_similar_objects():
    K = learner().fit([]).kernel_matrix()
    unit = F - F.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    unit -= unit.mean(axis=0)
    np.testing.assert_allclose(K, unit @ unit.T, atol=0.05)
    assert learner().fit([]).score(TEST) > 0.8
    assert learner().knowledge().coordinates(np.arange(N)).std() > 0.1


def test_with_few_answers_good_features_save_most_errors():
    T = answers(X, 4 * N)
    assert 1.0 - learner().fit(T).score(TEST) < 0.65 * (1.0 - learner(features=None).fit(T).score(TEST))


@pytest.mark.parametrize("kind", ["random", "shuffled"])
def test_features_that_say_nothing_cost_next_to_nothing(kind):
    rng = np.random.default_rng(5)
    useless = rng.standard_normal(F.shape) if kind == "random" else rng.permutation(F)
    T = answers(X, 20 * N)
    found = learner(features=useless).fit(T)
    assert 1.0 - found.score(TEST) < 0.02 + 1.05 * (1.0 - learner(features=None).fit(T).score(TEST))
    [worth] = found.features_
    assert worth.verdict in ("does not help", "makes no clear difference")


def test_any_split_of_a_stream_with_saving_in_between_gives_the_same_kernel(tmp_path):
    T = answers(X, 300)
    whole, parts = learner().fit(T), learner()
    for start in range(0, 300, 70):
        parts.partial_fit(T[start : start + 70])
        parts.save(tmp_path / "learner.npz")
        parts = ERKLE.load(tmp_path / "learner.npz")
    np.testing.assert_array_equal(whole.kernel_matrix(), parts.kernel_matrix())
    assert state(whole) == state(parts)


def test_a_loaded_learner_fits_again_with_the_same_features(tmp_path):
    T = answers(X, 100)
    learner().fit(T).save(tmp_path / "learner.npz")
    again = ERKLE.load(tmp_path / "learner.npz").fit(T)
    np.testing.assert_array_equal(again.kernel_matrix(), learner().fit(T).kernel_matrix())
    assert clone(again).fit(T).score(TEST) == again.score(TEST)


def test_new_objects_have_the_place_of_their_features_and_answers_move_them():
    found = learner().fit(answers(X, 600))
    inside = found.embedding()
    twin = found.place(F[:3])
    far = np.linalg.norm(inside - inside.mean(axis=0), axis=1).mean()
    assert np.linalg.norm(twin - inside[:3], axis=1).max() < 0.8 * far
    found.add_objects(features=F[:3])
    assert found.n_objects_ == N + 3
    grown = found.embedding()
    nearest = [np.argsort(np.linalg.norm(grown - grown[N + i], axis=1))[:6] for i in range(3)]
    assert all(i in near for i, near in enumerate(nearest))
    before = found.distances([(N, 0, 1)])
    found.partial_fit([(N, 1, 0)] * 40)
    after = found.distances([(N, 0, 1)])
    assert after[0, 1] / after[0, 0] < before[0, 1] / before[0, 0]


def test_the_place_before_any_answer_is_that_of_the_kernel():
    found = learner().fit([])
    np.testing.assert_allclose(found.place(F), found.embedding(), atol=0.01)


def test_objects_that_are_added_without_features_start_in_the_middle():
    found = learner().fit(answers(X, 300)).add_objects(2)
    grown = found.embedding()
    spread = np.linalg.norm(grown[:N], axis=1).mean()
    assert np.linalg.norm(grown[N:], axis=1).max() < 0.2 * spread
    found.partial_fit(answers(X, 100, seed=8))
    assert found.n_objects_ == N + 2


def test_growing_keeps_the_distances_between_the_old_objects():
    found = learner().fit(answers(X, 300))
    before = found.kernel_matrix()
    found.add_objects(features=F[:2])
    after = found.kernel_matrix()[:N, :N]
    centre = np.eye(N) - 1.0 / N
    np.testing.assert_allclose(centre @ after @ centre, centre @ before @ centre, atol=1e-6)


def test_each_block_is_judged_by_itself():
    both = {"good": F, "noise": np.random.default_rng(3).standard_normal(F.shape)}
    found = learner(features=both).fit(answers(X, 20 * N))
    good, noise = found.features_
    assert (good.name, noise.name) == ("good", "noise")
    assert good.verdict == "helps"
    assert noise.verdict != "helps"
    assert good.error_with < good.error_without
    assert {"share of good", "share of noise"} <= set(found.selection_[0].setting)


def test_no_features_is_always_among_the_candidates():
    found = learner()
    for start in range(0, 600, 100):
        found.partial_fit(answers(X, 600)[start : start + 100])
        assert any(not entry.setting.shares for entry in found._model.candidates.entries)


def test_the_feature_map_places_prepared_features():
    found = learner().fit(answers(X, 300))
    prepared = F - F.mean(axis=0)
    prepared /= np.linalg.norm(prepared, axis=1, keepdims=True)
    prepared -= prepared.mean(axis=0)
    np.testing.assert_allclose(prepared @ found.feature_map_["features"], found.place(F), atol=1e-6)


def test_objects_without_features_are_learned_like_others():
    gaps = F.copy()
    gaps[:5] = np.nan
    T = answers(X, 20 * N)
    found = learner(features=gaps).fit(T)
    assert found.features_[0].n_objects == N - 5
    assert found.score(TEST) > 0.85


@pytest.mark.parametrize("kernel", [Dense(), LowRank(3), LowRank(consolidate="off"), LowRank(3, 0.1, 0.1)], ids=repr)
def test_a_kernel_that_cannot_use_features_refuses_them(kernel):
    with pytest.raises(ValueError, match="features"):
        learner(kernel=kernel).fit([])


def test_wrong_features_are_refused_when_learning_begins():
    with pytest.raises(ValueError, match="30 rows for 31 objects"):
        ERKLE(31, features=F).fit([])
    with pytest.raises(ValueError, match="numbers"):
        ERKLE(2, features=[["a"], ["b"]]).set_params(n_objects=3).fit([])


def test_methods_about_features_say_that_there_are_none():
    plain = ERKLE(N, random_state=0).fit(answers(X, 10))
    for call in (lambda: plain.place(F), lambda: plain.add_objects(features=F), lambda: plain.feature_map_):
        with pytest.raises(ValueError, match="needs a learner with features"):
            call()
    assert plain.features_ == []


def test_add_objects_refuses_features_that_do_not_match():
    found = learner().fit(answers(X, 30))
    for wrong, part in ((F[:2, :5], "5 columns"), ({"clip": F[:2]}, "clip"), (np.full((1, 64), np.inf), "infinity")):
        with pytest.raises(ValueError, match=part):
            found.add_objects(features=wrong)
    with pytest.raises(ValueError, match="2 rows for 3 objects"):
        found.add_objects(3, features=F[:2])
    assert found.n_objects_ == N
