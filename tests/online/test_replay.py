"""Laws of streams: splitting a stream into calls, saving, loading and reading in between have no effect."""

import copy
import itertools
import pickle
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import CKL, ERKLE, GNMDS, STE, Constant, Dense, LowRank, PassiveAggressive
from erkle.kernels.dense import DenseKernel
from erkle.online.replay import Replay, generator
from erkle.triplets import sample
from parts import KERNELS, PROJECTIONS, Cooling, SquaredHinge, answers, state

PASSES = pytest.mark.parametrize("passes", [1, 3])
PROJECTION = pytest.mark.parametrize("projection", PROJECTIONS)


# Ways to learn a piece of a stream; each returns the learner to continue with.


def by_partial_fit(learner, piece):
    return learner.partial_fit(piece)


def by_lists(learner, piece):
    return learner.partial_fit(piece.tolist())


def by_questions(learner, piece):
    return learner.partial_fit(piece[:, [0, 2, 1]], np.zeros(len(piece), bool))


def by_single_answers(learner, piece):
    for row in piece:
        learner.learn_one(row)
    return learner


def by_single_questions(learner, piece):
    for a, b, c in piece.tolist():
        learner.learn_one((a, c, b), answer=False)
    return learner


def by_prequential(learner, piece):
    learner.prequential(piece)
    return learner


def after_pickling(learner, piece):
    return pickle.loads(pickle.dumps(learner)).partial_fit(piece)


def after_copying(learner, piece):
    return copy.deepcopy(learner).partial_fit(piece)


def after_saving(learner, piece):
    if not learner.__sklearn_is_fitted__():
        return learner.partial_fit(piece)
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder, "learner.npz"))
        return ERKLE.load(Path(folder, "learner.npz"), loss=learner.loss, step=learner.step).partial_fit(piece)


def then_reading(learner, piece):
    learner.partial_fit(piece)
    learner.kernel_matrix(), learner.embedding(), learner.score([(0, 1, 2)]), learner.predict_one((0, 1, 2))
    return learner


def after_a_refusal(learner, piece):
    with pytest.raises(ValueError, match="name object"):
        learner.partial_fit([*piece.tolist(), (0, 1, 99)])
    return learner.partial_fit(piece)


WAYS = [
    by_partial_fit,
    by_lists,
    by_questions,
    by_single_answers,
    by_single_questions,
    by_prequential,
    after_pickling,
    after_copying,
    after_saving,
    then_reading,
    after_a_refusal,
]
cuts = st.lists(st.tuples(st.integers(0, 300), st.sampled_from(WAYS)), max_size=8)


def in_pieces(learner, T, cuts):
    """Learn T in pieces; each cut is a position and the way to learn from there to the next cut."""
    cuts = sorted(cuts, key=lambda cut: cut[0])
    ends = [position for position, _ in cuts[1:]] + [len(T)]
    learner.partial_fit(T[: cuts[0][0] if cuts else len(T)])
    for (start, way), end in zip(cuts, ends, strict=False):
        learner = way(learner, T[start:end])
    return learner


@pytest.mark.parametrize(
    ("loss", "step"),
    [(GNMDS(), PassiveAggressive()), (STE(), Constant(1.0)), (CKL(), Constant(0.5)), (SquaredHinge(), Cooling())],
    ids=["PA", "STE", "CKL", "user's"],
)
@settings(max_examples=50)
@given(cuts=cuts, projection=st.sampled_from(PROJECTIONS), passes=st.sampled_from([1, 3]))
def test_any_split_of_a_stream_gives_the_same_kernel(loss, step, projection, passes, cuts):
    T = answers(7, 300, flipped=0.2)
    kernel = Dense(projection=projection)
    parameters = {"kernel": kernel, "loss": loss, "step": step, "passes": passes, "random_state": 5}
    whole, learner = ERKLE(7, **parameters).fit(T), in_pieces(ERKLE(7, **parameters), T, cuts)
    assert state(learner) == state(whole)
    np.testing.assert_array_equal(learner.kernel_matrix(), whole.kernel_matrix())
    assert learner.prequential_error_ == whole.prequential_error_
    assert learner.n_triplets_seen_ == whole.n_triplets_seen_
    assert learner.counters_ == whole.counters_


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=12)
@given(cuts=cuts, passes=st.sampled_from([1, 3]))
def test_any_split_of_a_stream_gives_the_same_model(kernel, passes, cuts):
    T = answers(7, 300, flipped=0.2)
    parameters = {"kernel": kernel, "passes": passes, "random_state": 5}
    whole, learner = ERKLE(7, **parameters).fit(T), in_pieces(ERKLE(7, **parameters), T, cuts)
    assert state(learner) == state(whole)
    np.testing.assert_array_equal(learner.kernel_matrix(), whole.kernel_matrix())
    assert repr(learner.selection_) == repr(whole.selection_)


@PASSES
@pytest.mark.parametrize("kernel", KERNELS)
def test_objects_can_be_added_before_or_after_saving(kernel, passes):
    T, later = answers(5, 120, flipped=0.2), answers(12, 200, flipped=0.2)
    straight, saved = (ERKLE(5, kernel=kernel, passes=passes, random_state=5).fit(T) for _ in range(2))
    straight.add_objects(3).partial_fit(later[:0]).add_objects(4).partial_fit(later)
    saved = after_saving(saved, later[:0]).add_objects(3)
    saved = after_pickling(after_saving(saved, later[:0]).add_objects(4), later[:0])
    assert state(after_copying(saved, later[:90]).partial_fit(later[90:])) == state(straight)


@PASSES
@PROJECTION
def test_the_size_of_blocks_within_a_call_has_no_effect(projection, passes, monkeypatch):
    T = answers(7, 300, flipped=0.2)
    whole = ERKLE(7, kernel=Dense(projection=projection), passes=passes, random_state=0).fit(T)
    monkeypatch.setattr(DenseKernel, "block", 10)
    blocks = ERKLE(7, kernel=Dense(projection=projection), passes=passes, random_state=0)
    decisions = blocks.prequential(T)
    assert state(blocks) == state(whole)
    assert not np.isnan(decisions).any()


@PASSES
@PROJECTION
def test_fit_starts_from_scratch(projection, passes):
    T = answers(7, 300, flipped=0.2)
    parameters = {"kernel": Dense(projection=projection), "passes": passes, "random_state": 0}
    once, twice = ERKLE(7, **parameters).fit(T), ERKLE(7, **parameters).fit(T[::-1]).fit(T)
    assert state(once) == state(twice)
    grown = ERKLE(7, **parameters).fit(T).add_objects(2).fit(T)
    assert state(grown) == state(once)


def test_the_random_state_matters_only_for_several_passes():
    T = answers(7, 100)
    one_pass = [ERKLE(7, kernel=Dense(), random_state=seed).fit(T).kernel_matrix() for seed in (0, 1, None)]
    np.testing.assert_array_equal(one_pass[0], one_pass[1])
    np.testing.assert_array_equal(one_pass[0], one_pass[2])
    first, again, other = (
        ERKLE(7, kernel=Dense(), passes=3, random_state=seed).fit(T).kernel_matrix() for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6


# The schedule of replayed answers.


def unknown(T):
    """The numbers of participants, all unknown."""
    return np.zeros(len(T), np.int32)


def pieces(T, positions):
    return np.split(T, sorted(min(position, len(T)) for position in positions))


@given(size=st.integers(0, 60), passes=st.integers(1, 6), positions=st.lists(st.integers(0, 60), max_size=5))
def test_a_schedule_does_not_depend_on_the_split(size, passes, positions):
    T = sample(9, size, 1)
    whole, split = Replay(passes, generator(4)), Replay(passes, generator(4))
    givers = np.arange(size, dtype=np.int32) % 4
    rows, numbers, new, *_ = whole.schedule(T, givers)
    parts = zip(pieces(T, positions), pieces(givers, positions), strict=True)
    schedules = [split.schedule(*part) for part in parts]
    np.testing.assert_array_equal(rows, np.concatenate([schedule.rows for schedule in schedules]))
    np.testing.assert_array_equal(numbers, np.concatenate([schedule.numbers for schedule in schedules]))
    np.testing.assert_array_equal(rows[new], T)
    np.testing.assert_array_equal(whole.history, split.history)
    np.testing.assert_array_equal(whole.participants, split.participants)
    assert whole.seen == split.seen == size


@given(size=st.integers(0, 60), passes=st.integers(1, 6))
def test_after_twice_the_passes_each_answer_is_followed_by_answers_already_seen(size, passes):
    T = np.arange(3 * size).reshape(size, 3)
    rows, numbers, new, *_ = Replay(passes, generator(0)).schedule(T, unknown(T))
    counts = np.diff([*new, len(rows)])
    expected = np.where(np.arange(1, size + 1) > 2 * passes, passes, 1)
    np.testing.assert_array_equal(counts, expected)
    for j, start, count in zip(itertools.count(1), new, counts, strict=False):
        block = rows[start : start + count]
        assert (block[:, 0] // 3 < j).all()
        assert block[0].tolist() == T[j - 1].tolist()
        assert numbers[start : start + count].tolist() == list(range(j, j + count))


def test_replayed_answers_are_drawn_uniformly_from_all_seen():
    T = np.arange(30_000).reshape(10_000, 3)
    rows, _, new, *_ = Replay(2, generator(0)).schedule(T, unknown(T))
    later = new[9000:]
    drawn = rows[later + 1, 0] // 3 / np.arange(9001, 10_001)
    np.testing.assert_allclose(np.histogram(drawn, bins=4, range=(0, 1))[0] / 1000, 0.25, atol=0.04)


@given(size=st.integers(0, 40), forgotten=st.integers(0, 40), passes=st.integers(1, 5))
def test_what_was_not_learned_is_scheduled_again_with_the_same_draws(size, forgotten, passes):
    forgotten = min(size, forgotten)
    T = sample(9, size, 1)
    straight, back = Replay(passes, generator(4)), Replay(passes, generator(4))
    givers, kept = np.arange(size, dtype=np.int32), size - forgotten
    straight.schedule(T[:kept], givers[:kept])
    back.schedule(T, givers)
    back.forget(forgotten)
    first, second = (replay.schedule(T[kept:], givers[kept:]) for replay in (straight, back))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(straight.history, back.history)
    np.testing.assert_array_equal(straight.participants, back.participants)


def test_several_passes_keep_all_answers():
    assert ERKLE(7, kernel=Dense(), passes=2).fit(answers(7, 100)).history_.shape == (100, 3)


@given(keep=st.integers(1, 12), sizes=st.lists(st.integers(0, 30), max_size=8))
def test_a_limited_history_keeps_the_last_answers(keep, sizes):
    T = np.arange(3 * sum(sizes)).reshape(-1, 3)
    replay = Replay(1, generator(0), keep)
    for piece in np.split(T, np.cumsum(sizes[:-1])) if sizes else []:
        replay.schedule(piece, piece[:, 0].astype(np.int32))
    np.testing.assert_array_equal(replay.history, T[-keep:])
    np.testing.assert_array_equal(replay.participants, T[-keep:, 0])
    assert len(replay._history) <= 4 * keep + 2 * max(sizes, default=0)
    assert replay.seen == len(T)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_low_rank_kernel_keeps_answers_and_a_dense_one_keeps_none(kernel):
    T = answers(7, 100)
    learner = ERKLE(7, kernel=kernel).fit(T)
    np.testing.assert_array_equal(learner.history_, T)
    with pytest.raises(ValueError, match="read-only"):
        learner.history_[0] = 0
    assert ERKLE(7, kernel=Dense()).fit(T).history_ is None


def test_a_generator_passed_in_is_drawn_from_once_and_never_shared():
    passed = np.random.default_rng(3)
    first, second = generator(passed), generator(passed)
    assert first is not passed
    assert first.random() != second.random()
    assert generator(np.random.default_rng(3)).random() == generator(np.random.default_rng(3)).random()
    assert generator(np.random.RandomState(3)).random() == generator(np.random.RandomState(3)).random()
    assert isinstance(generator(None).bit_generator, np.random.PCG64)
    mersenne = np.random.Generator(np.random.MT19937(3))
    assert isinstance(generator(mersenne).bit_generator, np.random.PCG64)


@pytest.mark.parametrize("seed", [-1, 1.5, "seed", object()])
def test_a_bad_random_state_is_refused(seed):
    with pytest.raises(ValueError, match=rf"^random_state is {re.escape(repr(seed))}; "):
        ERKLE(5, kernel=Dense(), random_state=seed).fit([(0, 1, 2)])


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("passes", [1, 3])
def test_an_interruption_while_answers_are_scheduled_counts_none_of_them(passes, error, monkeypatch):
    T = answers(7, 100)
    learner, reference = (ERKLE(7, kernel=LowRank(3), passes=passes, random_state=0).fit(T[:60]) for _ in range(2))

    def stop(*arguments):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Replay, "_stretch", stop)
        with pytest.raises(error):
            learner.partial_fit(T[60:])
    assert state(learner) == state(reference)
    assert state(learner.partial_fit(T[60:])) == state(reference.partial_fit(T[60:]))
