"""Laws of learning with features: what they change, what they must not change, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from erkle import ERKLE, Dense, LowRank
from erkle.features import Features
from erkle.kernels.lapack import one_thread
from erkle.online.models.fit_proposals import FitProposals, equal_shares
from erkle.online.models.fits import FitSetting
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


def test_any_split_of_a_stream_that_meets_new_objects_gives_the_same_kernel(tmp_path):
    more = points(N + 4)
    new, T = vectors(more)[N:], np.vstack([answers(X, 100), answers(more, 240)])

    def saved(found):
        found.save(tmp_path / "learner.npz")
        return ERKLE.load(tmp_path / "learner.npz")

    learners = []
    for pause in (lambda found: found, saved):
        found = learner(features={"one": F, "other": F[:, :5]}).partial_fit(T[:50])
        found = pause(found).partial_fit(T[50:100])
        found = pause(found).add_objects(features={"one": new[:2], "other": new[:2, :5]})
        found = pause(found).add_objects(1, features={"other": new[2:3, :5]})
        found = pause(found).add_objects()
        found = pause(found).partial_fit(T[100:200])
        found.place({"one": new})
        learners.append(pause(found).partial_fit(T[200:]))
    assert state(learners[0]) == state(learners[1])
    again = [found.fit(T[:100]) for found in learners]
    assert state(again[0]) == state(again[1])


def test_features_that_were_changed_since_learning_began_are_used_by_the_next_fit_after_loading(tmp_path):
    T, path = answers(X, 60), tmp_path / "learner.npz"
    for before, after in ((F, None), (None, F), (F, F[::-1]), (F, {"new": F[:, :3]})):
        found = learner(features=before).fit(T).set_params(features=after)
        found.save(path)
        loaded = ERKLE.load(path)
        assert state(loaded) == state(found)
        assert (loaded.features is None) == (after is None)
        assert state(loaded.partial_fit(T)) == state(found.partial_fit(T))
        np.testing.assert_array_equal(loaded.fit(T).kernel_matrix(), learner(features=after).fit(T).kernel_matrix())
    found = learner().fit(T).set_params(features=None, kernel=Dense())
    found.save(path)
    assert ERKLE.load(path).fit(T).features_ == []


def test_no_new_objects_change_nothing():
    found = learner().fit(answers(X, 100))
    before = state(found)
    assert state(found.add_objects(0)) == before
    assert state(found.add_objects(features=F[:0])) == before


def with_and_without_a_limit_of_threads(make):
    """What a function makes, also while fits of other learners limit the BLAS threads of the process."""
    with threadpool_limits(2):
        free = make()
        with one_thread(0):
            return free, make()


def test_what_is_learned_does_not_depend_on_work_elsewhere_in_the_process():
    X = points(300)
    given, T = {"one": vectors(X, 90), "other": vectors(X, 8)}, answers(X, 40)
    one, other = with_and_without_a_limit_of_threads(lambda: ERKLE(300, random_state=0, features=given).fit(T))
    assert state(one) == state(other)


def test_a_prior_does_not_depend_on_who_asks_for_it_first():
    X = points(1900)
    known = Features.of({str(d): vectors(X, d) for d in (90, 300, 600)}, 1900)
    setting = FitSetting(10, 4.0, shares=equal_shares(known, 0.9))
    one, other = with_and_without_a_limit_of_threads(lambda: FitProposals(0, False, known, {}).prior(setting))
    for here, there in zip(one, other, strict=True):
        np.testing.assert_array_equal(here, there)


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
    for odd in (5.0, {"features": 5.0}, [[1.0], [1.0, 2.0]], {}):
        with pytest.raises(ValueError, match=r"[Ff]eatures"):
            found.add_objects(features=odd)
    assert found.n_objects_ == N


def extra_distance(found, a, b):
    """How much larger the squared distance of two objects is than that of their coordinates."""
    X = found.embedding()
    other = next(c for c in range(3) if c not in (a, b))
    return found.distances([(a, b, other)])[0, 0] - np.sum((X[a] - X[b]) ** 2)


def test_new_objects_are_farther_away_if_features_say_less_about_their_places():
    """Nobody knows exactly where they are: a squared distance is expected to be larger by the mean squared error."""
    T, noise = answers(X, 40 * N), 8.0 * np.random.default_rng(8).standard_normal(F.shape)
    good, poor = (learner(features=each).fit(T) for each in (F, F + noise))
    sizes = [np.mean(np.sum(found.embedding() ** 2, axis=1)) for found in (good, poor)]
    good.add_objects(features=F[:2])
    poor.add_objects(features=(F + noise)[:2])
    assert extra_distance(poor, N, 0) / sizes[1] > 1.5 * extra_distance(good, N, 0) / sizes[0] > 0.0
    # Until answers about them come, later fits do not change this.
    good.partial_fit(answers(X, 8 * N, seed=5))
    assert extra_distance(good, N, 0) > 0.0
    assert extra_distance(good, N, N + 1) == pytest.approx(2.0 * extra_distance(good, N, 0))
