"""Laws of fits in the background: learning continues, the result is used, and errors are raised."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from test_refitting import SPEC, Reviews, learner_of
from threadpoolctl import ThreadpoolController

from erkle import ERKLE
from erkle.kernels.lapack import one_thread
from erkle.online.models import minimising
from erkle.online.models.refitting import Refitting
from parts import answers, state


@pytest.fixture
def held(monkeypatch):
    """Fits that wait in their thread until the event is set."""
    gate, fit = threading.Event(), Refitting._fit_all

    def waiting(self, *arguments):
        if threading.current_thread() is not threading.main_thread():
            assert gate.wait(60)
        return fit(self, *arguments)

    monkeypatch.setattr(Refitting, "_fit_all", waiting)
    yield gate
    gate.set()


@SPEC
def test_learning_continues_during_a_fit_and_then_uses_its_result(spec, held):
    T = answers(12, 300)
    learner = learner_of(spec).fit(T[:200])
    alone, review = learner_of(spec).fit(T[:200]), learner._model.next_review
    future, model = learner.consolidate(background=True), learner._model
    assert learner.consolidate(background=True) is future
    later = T[200 : min(review - 1, 210)]
    for row in later:
        learner.learn_one(row)
        assert learner._model is model
    held.set()
    future.result(60)
    assert learner._model is model
    learner.partial_fit([])
    assert learner._model is not model
    # This equals a fit before these answers, which are then learned online.
    alone.consolidate()
    alone.partial_fit(later)
    np.testing.assert_allclose(learner.kernel_matrix(), alone.kernel_matrix(), atol=1e-9)
    assert learner.n_triplets_seen_ == 200 + len(later)
    assert learner.reliability_.n_answers.sum() == learner.n_triplets_seen_
    assert learner.partial_fit(T[200 + len(later) :]).n_triplets_seen_ == 300
    assert learner._model.next_review > 300


def test_a_fit_that_became_due_meanwhile_takes_precedence(held):
    T = answers(12, 200)
    learner = learner_of().fit(T[:100])
    future = learner.consolidate(background=True)
    learner.partial_fit(T[100:])
    model = learner._model
    held.set()
    future.result(60)
    assert state(learner.partial_fit([])) == state(learner_of().fit(T))
    assert learner._model is model


def test_an_explicit_fit_takes_precedence(held):
    learner = learner_of().fit(answers(12, 100))
    future = learner.consolidate(background=True)
    learner.consolidate()
    model, before = learner._model, state(learner)
    held.set()
    future.result(60)
    learner.partial_fit([])
    assert learner._model is model
    assert state(learner) == before


def test_objects_added_during_a_fit_are_kept(held):
    learner = learner_of().fit(answers(12, 101))
    future = learner.consolidate(background=True)
    learner.add_objects(2).learn_one((0, 12, 13))
    held.set()
    future.result(60)
    learner.learn_one((12, 0, 13))
    assert learner.n_objects_ == 14
    assert learner.n_triplets_seen_ == 103
    assert learner.predict_one((0, 12, 13))


def test_an_error_in_the_thread_is_raised_once_by_the_next_call(monkeypatch):
    learner = learner_of().fit(answers(12, 100))
    before = state(learner)
    with monkeypatch.context() as patch:
        Reviews(patch, minimising, "minimise", raises_at=1, error=MemoryError("too many answers"))
        future = learner.consolidate(background=True)
        assert isinstance(future.exception(60), MemoryError)
    with pytest.raises(MemoryError, match="too many answers"):
        learner.partial_fit(answers(12, 5))
    assert state(learner) == before
    assert learner.partial_fit(answers(12, 5)).n_triplets_seen_ == 105


def test_a_copy_and_a_file_do_not_include_a_running_fit(held, tmp_path):
    learner = learner_of().fit(answers(12, 100))
    before = state(learner)
    learner.consolidate(background=True)
    learner.save(tmp_path / "learner.npz")
    assert state(ERKLE.load(tmp_path / "learner.npz").partial_fit([])) == before
    learner.fit(answers(12, 50))
    held.set()
    assert state(learner.partial_fit([])) == state(learner_of().fit(answers(12, 50)))


def test_a_file_includes_a_finished_fit(held, tmp_path):
    learner, alone = (learner_of().fit(answers(12, 100)) for _ in range(2))
    future = learner.consolidate(background=True)
    held.set()
    future.result(60)
    learner.save(tmp_path / "kernel.npz")
    alone.consolidate()
    np.testing.assert_allclose(ERKLE.load(tmp_path / "kernel.npz").kernel_matrix(), alone.kernel_matrix(), atol=1e-9)


def test_threads_that_limit_blas_at_the_same_time_restore_the_original_limit():
    numbers = lambda: [blas["num_threads"] for blas in ThreadpoolController().select(user_api="blas").info()]  # noqa: E731
    inside, end, before = threading.Event(), threading.Event(), numbers()

    def other():
        with one_thread(5):
            inside.set()
            assert end.wait(60)

    thread = threading.Thread(target=other)
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        allowed = numbers()
        assert max(allowed) == 2
        thread.start()
        assert inside.wait(60)
        with one_thread(5):
            end.set()
            thread.join()
            assert all(number == 1 for number in numbers())
        assert numbers() == allowed
    assert numbers() == before


DIGEST = """
import hashlib
from erkle import ERKLE, Dense
from erkle.datasets import make_gaussian
T = make_gaussian(300, 5, 1500, random_state=0).triplets
print(hashlib.sha256(ERKLE(300, kernel=Dense()).fit(T).kernel_matrix().tobytes()).hexdigest())
"""


def test_the_number_of_blas_threads_does_not_change_the_kernel():
    digests = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        digests.add(subprocess.check_output([sys.executable, "-c", DIGEST], env=environment))
    assert len(digests) == 1
