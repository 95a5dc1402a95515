"""Laws of participants: their slips are found, random responders are marked, and unknown names change nothing."""

import itertools
import math
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import ERKLE, STE, Constant, Dense, LowRank
from erkle.kernels import upkeep
from erkle.kernels.low_rank import LowRankKernel
from erkle.online.participants import Participants, participant_names
from erkle.triplets import sample
from parts import KERNELS, answers, assert_is_a_sentence, state

LEARNERS = pytest.mark.parametrize("kernel", [pytest.param(Dense(), id="dense"), *KERNELS])


def predicted(lapses, per_participant, seed=0):
    """Who gave each answer, and how probable it was without slips, for participants with these lapses."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(lapses)), per_participant)
    first = scipy.special.expit(rng.normal(scale=2.0, size=len(who)))
    lapse = np.asarray(lapses)[who]
    chosen = rng.random(len(who)) < lapse + (1.0 - 2.0 * lapse) * first
    return who, np.where(chosen, first, 1.0 - first)


def heard(who, likely):
    """Participants who have given these answers, late in a study."""
    participants = Participants()
    numbers = participants.number(participant_names(who, len(who)), len(who))
    participants.add(numbers, np.asarray(likely), 10**9, 1)
    return participants


def estimated(lapses, per_participant, seed=0, study=0.05):
    return heard(*predicted(lapses, per_participant, seed)).table(study)


def simulated(lapses, n, per_participant, seed):
    """Answers about points in the plane, who gave them, and correct answers to test with."""
    rng = np.random.default_rng(seed)
    X, size = math.sqrt(3.0) * rng.normal(size=(n, 2)), per_participant * len(lapses)
    who = rng.permutation(np.repeat(np.arange(len(lapses)), per_participant))

    def excess(T):
        a, b, c = X[T.T]
        return ((a - b) ** 2).sum(axis=1) - ((a - c) ** 2).sum(axis=1)

    def turned(T, swap):
        return np.where(swap[:, None], T[:, [0, 2, 1]], T)

    train, test = sample(n, size, rng), sample(n, 2000, rng)
    wrong = rng.random(size) < scipy.special.expit(excess(train))
    slips = rng.random(size) < np.asarray(lapses)[who]
    return turned(train, wrong ^ slips), who, turned(test, excess(test) > 0.0)


# The estimate.


def test_the_interval_of_the_only_one_who_tosses_coins_contains_one_half():
    tables = [estimated([0.1] * 9 + [0.5], 200, seed) for seed in range(20)]
    assert np.mean([table.high[-1] >= 0.49 for table in tables]) >= 0.95
    assert np.mean([table.at_random[-1] for table in tables]) > 0.5


def test_the_lapses_of_simulated_participants_are_recovered():
    lapses = np.repeat([0.02, 0.1, 0.25, 0.5], 10)
    table = estimated(lapses, 400)
    assert table.n_answers.tolist() == [400] * 40
    assert np.abs(table.lapse - lapses).max() < 0.12
    assert np.abs(table.lapse - lapses).mean() < 0.035
    assert (table.low <= table.lapse).all()
    assert (table.lapse <= table.high).all()
    covered = (table.low - 0.01 <= lapses) & (lapses <= table.high + 0.01)
    assert covered.mean() > 0.85


@pytest.mark.parametrize(("per_participant", "least"), [(150, 0.75), (800, 1.0)])
@pytest.mark.parametrize("seed", range(3))
def test_random_responders_are_marked_and_careful_participants_are_not(seed, per_participant, least):
    lapses = np.repeat([0.0, 0.05, 0.15, 0.5], [20, 20, 20, 15])
    table = estimated(lapses, per_participant, seed)
    assert table.at_random[lapses == 0.5].mean() >= least
    assert not table.at_random[lapses < 0.5].any()


@pytest.mark.parametrize("study", [0.0, 0.05, 0.3])
def test_without_a_known_participant_and_with_few_answers_the_estimate_stays_near_the_study(study):
    assert math.isnan(Participants().lapses(study)[0])
    assert len(Participants().table(study).lapse) == 0
    [one] = estimated([0.5], 1, study=study).lapse
    assert one == pytest.approx(study, abs=0.06)


def test_a_participant_with_few_answers_is_drawn_towards_the_others():
    who, likely = predicted(np.full(30, 0.25), 200)
    for size in (5, 1000):
        # A careful participant joins.
        many = heard(np.append(who, np.full(size, 30)), np.append(likely, np.full(size, 0.85)))
        careful = many.table(0.25).lapse[-1]
        assert (careful > 0.15) == (size == 5)


def test_a_larger_share_of_unlikely_answers_never_lowers_the_lapse():
    found = []
    for n_unlikely in range(0, 101, 10):
        likely = np.where(np.arange(100) < n_unlikely, 0.05, 0.95)
        found.append(heard(["p"] * 100, likely).table(0.05).lapse[0])
    assert found == sorted(found)
    assert found[0] < 0.02 < 0.48 < found[-1]


def test_answers_of_unknown_participants_do_not_change_the_estimates_of_others():
    who, likely = predicted([0.05, 0.1, 0.4], 50)
    names = who.astype(str)
    alone = heard(names, likely)
    mixed = heard(np.append(names, [""] * 100), np.append(likely, np.full(100, 0.01)))
    for one, other in zip(alone.table(0.05), mixed.table(0.05), strict=True):
        np.testing.assert_array_equal(one, other)


@given(
    who=st.lists(st.integers(0, 5), max_size=40),
    study=st.floats(0.0, 0.499),
    likely=st.sampled_from([0.0, 1e-300, 0.5, 1.0 - 1e-16, 1.0]),
)
def test_any_answers_give_lapses_between_0_and_one_half(who, study, likely):
    participants = heard(who, np.full(len(who), likely))
    table = participants.table(study)
    assert len(table.names) == len(set(who))
    for column in (table.lapse, table.low, table.high):
        assert ((column >= 0.0) & (column <= 0.5)).all()
    assert (table.low <= table.high).all()
    np.testing.assert_array_equal(participants.lapses(study)[1:], table.lapse)


# Names.


def test_participants_are_numbered_in_the_order_of_their_first_answers():
    participants = Participants()
    assert participants.number(["b", "a", "b", "", "c"], 5).tolist() == [1, 2, 1, 0, 3]
    assert participants.number(["c", "d", "a"], 3).tolist() == [3, 4, 2]


def test_participants_whose_answers_could_not_be_learned_are_dropped():
    participants = Participants()
    participants.add(participants.number(["b", "a", "c", "d"], 4)[:2], np.full(2, 0.5), 10, 5)
    participants.drop_silent()
    assert participants.table(0.05).names.tolist() == ["b", "a"]
    assert participants.number(["d"], 1).tolist() == [3]


def test_after_an_overflow_the_history_names_the_right_participants():
    T = answers(7, 20)
    learner = ERKLE(7, kernel=LowRank(3), loss=STE(), step=Constant(1e120), passes=2)
    with pytest.raises(FloatingPointError):
        learner.partial_fit(T[:5], participants=list("abcde"))
    learner.set_params(step=Constant(1.0)).partial_fit(T[:2], participants=["x", "y"])
    assert learner.participants_.names.tolist() == ["x", "y"]
    assert learner.history_participants_.tolist() == [1, 2]


def test_a_new_participant_costs_little_however_many_there_are():
    participants = Participants()
    for i in range(2000):
        participants.add(participants.number([str(i)], 1), np.array([0.9]), 10, 5)
    assert participants.counts.tolist() == [0] + [1] * 2000
    # Room for all of them has been made a few times only.
    assert 2001 <= len(participants._counts) <= 4001


def test_whoever_answers_first_does_not_seem_to_slip_more_often():
    found = []
    for seed in range(4):
        T, who, _ = simulated(np.full(12, 0.02), 40, 50, seed)
        order = np.argsort(who, kind="stable")
        found.append(ERKLE(40, random_state=0).fit(T[order], participants=who[order]).participants_.lapse)
    first, others = np.mean(found, axis=0)[:2], np.mean(found, axis=0)[4:]
    assert first.mean() < others.mean() + 0.02


def test_the_typical_participant_does_not_depend_on_who_gives_most_answers():
    participants = heard([*"abc" * 20, *"d" * 500], np.repeat([0.95, 0.4], [60, 500]))
    lapses = participants.lapses(0.05)
    assert lapses[4] > 0.4
    assert participants.typical_lapse(lapses) == np.median(lapses[1:]) < 0.2
    assert Participants().typical_lapse(np.full(1, np.nan)) == 0.0


@pytest.mark.parametrize("unknown", [None, math.nan, "", "nan", np.nan])
def test_missing_names_are_unknown_and_numbers_are_names(unknown):
    participants = Participants()
    names = participant_names([unknown, 7, 7.0, "7", np.int64(7), True, b"7"], 7)
    assert participants.number(names, 7).tolist() == [0, 1, 1, 1, 1, 2, 1]
    assert list(participants.numbers) == ["", "7", "True"]


def test_names_are_the_same_in_a_file(tmp_path):
    T, who = answers(7, 30), ["a", "a\0", " a"] * 10
    learner = ERKLE(7, random_state=0).fit(T, participants=who)
    learner.save(tmp_path / "learner.npz")
    loaded = ERKLE.load(tmp_path / "learner.npz")
    assert loaded.participants_.names.tolist() == learner.participants_.names.tolist() == ["a", " a"]


@LEARNERS
@pytest.mark.parametrize("participants", [["p"], ["p"] * 3, [["p"], ["q"]], "pq", 5])
def test_one_participant_per_answer_is_needed_and_a_refusal_changes_nothing(participants, kernel):
    learner = ERKLE(7, kernel=kernel, random_state=0).fit(answers(7, 20))
    before = state(learner)
    for act in (learner.fit, learner.partial_fit, learner.prequential):
        with pytest.raises(ValueError, match=r"^Participants have shape .*2 answers") as caught:
            act([(0, 1, 2), (3, 4, 5)], participants=participants)
        assert_is_a_sentence(caught)
        assert state(learner) == before


# In a learner.


@LEARNERS
def test_unknown_participants_change_nothing(kernel):
    T = answers(7, 150, flipped=0.2)
    without, *others = (
        ERKLE(7, kernel=kernel, random_state=0).fit(T, participants=unknown)
        for unknown in (None, [None] * 150, np.full(150, np.nan), [""] * 150)
    )
    for other in others:
        assert state(other) == state(without)
        np.testing.assert_array_equal(other.kernel_matrix(), without.kernel_matrix())
        assert len(other.participants_.names) == 0


PEOPLE = np.random.default_rng(0).choice(["", *"abcdefghijkl"], 300)
# Most participants come late, so the first pieces of a stream name only some of them.
PEOPLE[:100] = np.random.default_rng(1).choice(["", "a", "b"], 100)


def by_partial_fit(learner, T, people):
    return learner.partial_fit(T, participants=people)


def by_single_answers(learner, T, people):
    for row, name in zip(T, people.tolist(), strict=True):
        learner.learn_one(row, participant=name or None)
    return learner


def after_saving(learner, T, people):
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder, "learner.npz"))
        return ERKLE.load(Path(folder, "learner.npz")).partial_fit(T, participants=people)


def after_a_refusal(learner, T, people):
    with pytest.raises(ValueError, match="name object"):
        learner.partial_fit([(0, 1, 99)], participants=["new"])
    with pytest.raises(ValueError, match="Participants"):
        learner.partial_fit(T, participants=[*people, "new"])
    return learner.partial_fit(T, participants=people)


def then_reading(learner, T, people):
    learner.partial_fit(T, participants=people)
    assert len(learner.participants_.names) == len(set(PEOPLE[: learner.n_triplets_seen_]) - {""})
    return learner


WAYS = [by_partial_fit, by_single_answers, after_saving, after_a_refusal, then_reading]


@LEARNERS
@settings(max_examples=8)
@given(cuts=st.lists(st.tuples(st.integers(0, 300), st.sampled_from(WAYS)), max_size=6), passes=st.sampled_from([1, 3]))
def test_any_split_of_a_stream_with_participants_gives_the_same_model(kernel, passes, cuts):
    T = answers(7, 300, flipped=0.2)
    parameters = {"kernel": kernel, "passes": passes, "random_state": 5}
    whole, learner = ERKLE(7, **parameters).fit(T, participants=PEOPLE), ERKLE(7, **parameters)
    cuts = sorted(cuts, key=lambda cut: cut[0])
    ends = [position for position, _ in cuts[1:]] + [300]
    first = cuts[0][0] if cuts else 300
    learner.partial_fit(T[:first], participants=PEOPLE[:first])
    for (start, way), end in zip(cuts, ends, strict=False):
        learner = way(learner, T[start:end], PEOPLE[start:end])
    assert state(learner) == state(whole)
    np.testing.assert_array_equal(learner.kernel_matrix(), whole.kernel_matrix())
    for one, other in zip(learner.participants_, whole.participants_, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernel", KERNELS)
def test_after_an_interruption_exactly_the_learned_answers_are_counted(kernel, monkeypatch):
    T = answers(7, 300, flipped=0.2)
    learner = ERKLE(7, kernel=kernel, random_state=5).fit(T[:50], participants=PEOPLE[:50])
    learn, calls = LowRankKernel.learn, itertools.count()

    def interrupted(own, rule, stretch):
        if next(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        learn(own, rule, stretch)

    with monkeypatch.context() as patch:
        patch.setattr(LowRankKernel, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            by_single_answers(learner, T[50:60], PEOPLE[50:60])
    seen = learner.n_triplets_seen_
    assert learner.participants_.n_answers.sum() == np.count_nonzero(PEOPLE[:seen] != "")
    learner.partial_fit(T[seen:], participants=PEOPLE[seen:])
    assert state(learner) == state(ERKLE(7, kernel=kernel, random_state=5).fit(T, participants=PEOPLE))


def test_after_an_error_within_a_stretch_the_learned_answers_are_counted(monkeypatch):
    T, people = answers(8, 700, flipped=0.3), np.arange(700) % 4

    def fail(state):
        raise MemoryError

    learner = ERKLE(8, kernel=Dense()).fit(T[:50], participants=people[:50])
    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "_build_inverse", fail)
        with pytest.raises(MemoryError):
            learner.partial_fit(T[50:], participants=people[50:])
    seen = learner.n_triplets_seen_
    assert 50 < seen < 700
    follower = ERKLE(8, kernel=Dense()).fit(T[:seen], participants=people[:seen])
    for one, other in zip(learner.participants_, follower.participants_, strict=True):
        np.testing.assert_array_equal(one, other)


@LEARNERS
def test_every_learner_counts_the_answers_of_its_participants(kernel):
    learner = ERKLE(7, kernel=kernel, random_state=0).fit(answers(7, 300, flipped=0.2), participants=PEOPLE)
    table = learner.participants_
    expected = {name: PEOPLE.tolist().count(name) for name in "abcdefghijkl"}
    assert dict(zip(table.names, table.n_answers, strict=True)) == expected


def test_learning_uses_the_lapses_of_participants():
    T = answers(7, 300, flipped=0.2)
    learner, without = (ERKLE(7, random_state=0).fit(T, participants=people) for people in (PEOPLE, None))
    assert not np.array_equal(learner.kernel_matrix(), without.kernel_matrix())


def test_a_learner_without_fits_learns_the_same_with_participants():
    T = answers(7, 300, flipped=0.2)
    for kernel in (Dense(), LowRank(3), LowRank(consolidate="off")):
        learner, without = (ERKLE(7, kernel=kernel).fit(T, participants=people) for people in (PEOPLE, None))
        np.testing.assert_array_equal(learner.kernel_matrix(), without.kernel_matrix())


def test_if_a_fifth_answer_at_random_they_are_found_and_the_map_is_better_for_knowing_it():
    lapses, errors, marked = np.repeat([0.5, 0.02], [2, 8]), [], 0
    for seed in range(4):
        train, who, test = simulated(lapses, 15, 80, seed)
        learner, without = (ERKLE(15, random_state=0).fit(train, participants=people) for people in (who, None))
        errors.append([1 - learner.score(test), 1 - without.score(test)])
        table = learner.participants_
        random = lapses[table.names.astype(int)] == 0.5
        assert table.lapse[random].min() > 0.3
        assert table.lapse[~random].max() < 0.15
        assert not table.at_random[~random].any()
        marked += table.at_random[random].sum()
    # The lapse of a random responder with few answers can seem to be a little below 0.4.
    assert marked >= 6
    better, worse = np.mean(errors, axis=0)
    assert better < 0.9 * worse
