"""Laws of fits on a cluster: they have the bits of one process, whatever happens to workers; and errors say what to do.

The clusters are real, with processes.
"""

import importlib
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import answers_of, learned, lines, listing, n_saved, write
from erkle import ERKLE, GNMDS, RCKL, STE, LowRank, TripletEmbedding, cluster, sources, summing
from erkle.cli.learn.run import Run
from erkle.cluster import ClusterError, assigned, on_dask
from parts import answers

distributed = pytest.importorskip("dask.distributed")

N, T = 12, answers(12, 900, flipped=0.1)
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parts of 100 answers, from 500 answers on."""
    monkeypatch.setattr(summing, "_PART", 100)
    monkeypatch.setattr(summing, "IN_PARTS_FROM", 500)


@pytest.fixture(scope="module")
def environment():
    """Let processes import erkle and the tests from this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HERE.parent / "src"), str(HERE)]))
        yield


@pytest.fixture(scope="module")
def pair(environment):
    """A client of two workers, each a process with one thread."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


@pytest.fixture
def workers(pair):
    """The same, after a worker that another test has killed has started again."""
    pair.wait_for_workers(2, timeout=60)
    return pair


def embedding(T=T, **parameters):
    return TripletEmbedding(N, 2, random_state=0, tol=1e-5, **parameters).fit(T).embedding_


def learner():
    """A learner whose last fit has many answers."""
    learner = ERKLE(N, kernel=LowRank(2, 1e-3, 0.5), random_state=0)
    return learner.fit(T[:700], participants=np.arange(700) % 5)


def lose_workers(monkeypatch, client, calls):
    """Kill a worker each time these numbers of sums have been sent."""
    original, counted = cluster.Cluster.result, []

    def result(self, future, homes):
        counted.append(homes)
        if len(counted) in calls:
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        return original(self, future, homes)

    monkeypatch.setattr(cluster.Cluster, "result", result)
    return counted


def test_a_fit_on_a_cluster_has_the_bits_of_one_process(workers):
    here = learner().kernel_matrix()
    with on_dask(workers):
        assert np.array_equal(learner().kernel_matrix(), here)


@pytest.mark.filterwarnings("ignore:The objective")  # 20 iterations are too few
@pytest.mark.parametrize(
    "learner",
    [
        TripletEmbedding(N, 2, random_state=0, max_iter=20),
        TripletEmbedding(N, 2, GNMDS(), random_state=0, max_iter=20),
        TripletEmbedding(N, 2, random_state=0, max_iter=20, features=np.eye(N)[:, :3]),
        RCKL(N, STE(), max_iter=20),
    ],
    ids=["embedding", "hinge", "features", "kernel"],
)
def test_a_batch_learner_on_a_cluster_has_the_bits_of_one_process(workers, learner):
    here = learner.fit(T).kernel_matrix()
    with on_dask(workers.scheduler.address):
        assert np.array_equal(learner.fit(T).kernel_matrix(), here)


def test_a_worker_that_is_lost_again_and_again_is_an_error(workers, monkeypatch):
    counted = []

    def result(self, future, homes):
        counted.append(homes)
        raise distributed.KilledWorker("a sum", SimpleNamespace(address="tcp://192.0.2.1:1"), 4)

    monkeypatch.setattr(cluster.Cluster, "result", result)
    with on_dask(workers), pytest.raises(ClusterError, match=r"8 times.*memory"):
        embedding()
    assert len(counted) == 8


def test_fits_of_few_answers_stay_here(workers, monkeypatch):
    counted = lose_workers(monkeypatch, workers, ())
    with on_dask(workers):
        embedding(T[:499])
    assert counted == []


@pytest.mark.parametrize("calls", [{3}, pytest.param({2, 3, 5}, marks=pytest.mark.thorough)], ids=str)
def test_lost_workers_change_nothing(workers, monkeypatch, calls):
    here = embedding()
    counted = lose_workers(monkeypatch, workers, calls)
    with on_dask(workers):
        assert np.array_equal(embedding(), here)
    assert len(counted) > max(calls)


def test_full_parts_are_sent_once_while_answers_arrive(workers, monkeypatch):
    sent, send = [], cluster.Cluster.send

    def noted(self, arrays, home):
        sent.extend(len(array) for array in arrays if array.dtype == np.int32)
        return send(self, arrays, home)

    monkeypatch.setattr(cluster.Cluster, "send", noted)
    with on_dask(workers):
        place = summing.place()
        for n_answers, expected in ((620, [20, *6 * [100]]), (650, [50]), (700, [100]), (700, [])):
            sums = place.hold(summing.in_groups(T[:n_answers])).given(0.0)
            sums.sum(counting, (N,), np.zeros(N))
            assert sorted(sent) == expected
            sent.clear()


def counting(T, own, total, G, X):
    """A sum that counts answers, and adds up their values."""
    G += np.bincount(T[:, 0], own, minlength=len(G)) + X
    return total + len(T)


def test_workers_that_retire_hand_over_their_parts(environment, monkeypatch):
    here = embedding()
    options = {"n_workers": 3, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        original, counted = cluster.Cluster.result, []

        def result(self, future, homes):
            counted.append(homes)
            if len(counted) == 2:
                client.retire_workers([homes[0]])
            return original(self, future, homes)

        monkeypatch.setattr(cluster.Cluster, "result", result)
        with on_dask(client):
            assert np.array_equal(embedding(), here)
        assert len({*counted[0]}) == 3
        assert len({*counted[-1]}) == 2


def test_a_worker_that_joins_gets_parts(environment, monkeypatch):
    here, counted = embedding(), []
    options = {"n_workers": 1, "threads_per_worker": 3, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        original = cluster.Cluster.result

        def result(self, future, homes):
            counted.append(homes)
            if len(counted) == 2:
                local.scale(2)
                client.wait_for_workers(2)
            return original(self, future, homes)

        monkeypatch.setattr(cluster.Cluster, "result", result)
        with on_dask(client):
            assert np.array_equal(embedding(), here)
    assert len({*counted[-1]}) == 2


def test_a_cluster_without_workers_is_refused(environment):
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as local,
        on_dask(local.scheduler_address, timeout=0.5),
        pytest.raises(ClusterError, match=r"no workers; start one with: dask worker"),
    ):
        embedding()


def test_an_address_without_a_scheduler_is_refused():
    with (
        pytest.raises(ClusterError, match=r"127\.0\.0\.1:9; start one with: dask scheduler"),
        on_dask("tcp://127.0.0.1:9", timeout=0.5),
    ):
        pass


def other_sources():
    sources.sources_stamp = lambda: "other"


def no_erkle():
    sys.modules["erkle.sources"] = None


def same_sources():
    sys.modules["erkle.sources"] = sources
    importlib.reload(sources)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [(other_sources, ValueError, "another version of erkle"), (no_erkle, ImportError, "cannot import erkle")],
)
def test_a_worker_with_other_sources_is_refused(workers, change, error, match):
    workers.run(change)
    try:
        with on_dask(workers), pytest.raises(error, match=match):
            embedding()
    finally:
        workers.run(same_sources)


class Running(NamedTuple):
    """A scheduler in its own process, and its address."""

    scheduler: subprocess.Popen
    address: str


@pytest.fixture
def running(environment, tmp_path):
    """A scheduler and a worker that can be killed."""
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen(
        [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file], **quiet
    )
    worker = subprocess.Popen([*dask, "worker", "--no-dashboard", "--nthreads", "1", "--scheduler-file", file], **quiet)
    try:
        with distributed.Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            address = client.scheduler.address
        yield Running(scheduler, address)
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait(60)


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.thorough)])
def test_a_scheduler_that_goes_away_is_an_error_and_the_learner_stays_as_it_was(running, monkeypatch, how):
    started = ERKLE(N, kernel=LowRank(2, 1e-3, 0.5), random_state=0).fit(T[:550])
    expected = started.kernel_matrix()
    original, counted = cluster.Cluster.result, []

    def result(self, future, homes):
        counted.append(homes)
        if len(counted) == 3:
            running.scheduler.send_signal(how)
        return original(self, future, homes)

    monkeypatch.setattr(cluster.Cluster, "result", result)
    begun = time.monotonic()
    with pytest.raises(ClusterError, match="does not answer"), on_dask(running.address, timeout=2.0):
        started.consolidate()
    assert time.monotonic() - begun < 20.0
    assert np.array_equal(started.kernel_matrix(), expected)
    started.consolidate()


# The command.


@pytest.fixture
def answer_file(tmp_path):
    return write(tmp_path / "answers.csv", answers_of(12, 700))


LEARN = ["--rank", "2", "--consolidate", "0.5"]


def test_the_command_learns_on_a_cluster(erkle, running, answer_file, tmp_path):
    command = ["learn", answer_file, *LEARN, "--out"]
    assert erkle(*command, tmp_path / "here").returncode == 0
    there = ["--backend", "dask", "--scheduler", running.address]
    assert erkle(*command, tmp_path / "there", *there).returncode == 0
    assert np.array_equal(learned(tmp_path / "there").kernel_matrix(), learned(tmp_path / "here").kernel_matrix())


def without_scheduler(monkeypatch, running, at):
    """Kill the scheduler during this sum, or before the last fit."""
    original, finish, counted = cluster.Cluster.result, Run.finish, []

    def result(self, future, homes):
        counted.append(homes)
        if len(counted) == at:
            running.scheduler.kill()
        return original(self, future, homes)

    def killing(run):
        if at == "the end":
            running.scheduler.kill()
        finish(run)

    monkeypatch.setattr(cluster.Cluster, "result", result)
    monkeypatch.setattr(Run, "finish", killing)
    monkeypatch.setattr(cluster, "on_dask", partial(on_dask, timeout=2.0))


@pytest.mark.parametrize(
    ("source", "at"),
    [
        ("file", 3),
        ("stream", "the end"),
        pytest.param("file", "the end", marks=pytest.mark.thorough),
        pytest.param("stream", 3, marks=pytest.mark.thorough),
    ],
)
def test_a_command_whose_scheduler_goes_away_can_be_resumed(
    erkle, running, answer_file, tmp_path, monkeypatch, at, source
):
    rows = lines(answers_of(12, 700))

    def run(out, first, *more):
        if source == "file":
            return erkle("learn", answer_file, *LEARN, "--out", tmp_path / out, *more)
        (tmp_path / "stream").write_text("".join(rows[first:]))
        with (tmp_path / "stream").open() as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stream)
            return erkle("learn", "-", *LEARN, "--out", tmp_path / out, *more)

    with monkeypatch.context() as patch:
        without_scheduler(patch, running, at)
        stopped = run("stopped", 0, "--backend", "dask", "--scheduler", running.address)
    assert stopped.returncode == 2
    assert "--resume" in stopped.stderr
    assert "does not answer" in stopped.refusal[-1]
    assert listing(tmp_path / "stopped") == ["checkpoint.npz"]
    first = n_saved(tmp_path / "stopped")
    assert first == 700 if at == "the end" else 0 < first < 700
    # A stream that ends without an answer is refused, but its results are written.
    assert run("stopped", first, "--resume").returncode == (2 if (source, at) == ("stream", "the end") else 0)
    assert run("whole", 0).returncode == 0
    assert np.array_equal(learned(tmp_path / "stopped").kernel_matrix(), learned(tmp_path / "whole").kernel_matrix())


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--backend", "dask"], "--backend is 'dask'; pass threads, or dask together with --scheduler"),
        (["--scheduler", "tcp://127.0.0.1:9"], "--backend is 'threads'"),
        (["--backend", "processes"], "--backend is 'processes'"),
        (["--backend", "dask", "--scheduler", "tcp://127.0.0.1:9", "--exact"], "--backend dask"),
        (["--backend", "dask", "--scheduler", "nonsense://here"], "nonsense"),
    ],
    ids=str,
)
def test_a_command_without_a_usable_cluster_is_refused_before_the_file_is_read(
    erkle, answer_file, tmp_path, options, match
):
    run = erkle("learn", answer_file, "--out", tmp_path / "out", *options)
    assert run.returncode == 2
    assert match in run.refusal[-1]
    assert not (tmp_path / "out").exists()


# Losses of users.


class OwnLoss(NamedTuple):
    """The squared hinge, defined in a test."""

    margin: float = 1.0

    def value(self, d_near, d_far):
        return max(0.0, self.margin + d_near - 0.5 * d_far) ** 2

    def slopes(self, d_near, d_far):
        violation = max(0.0, self.margin + d_near - 0.5 * d_far)
        return 2.0 * violation, -violation


def test_a_loss_of_the_user_is_sent_to_the_workers(workers):
    here = embedding(loss=OwnLoss(), max_iter=200)
    # As if it was written in the user's script: by value.
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        with on_dask(workers):
            assert np.array_equal(embedding(loss=OwnLoss(), max_iter=200), here)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


class Closed(OwnLoss):
    """A loss that cannot be sent."""

    def __reduce__(self):
        raise ValueError("stays here")


class Elsewhere(OwnLoss):
    """A loss in a module that the workers do not have."""


class Textual(OwnLoss):
    """A loss that cannot be compiled."""

    def value(self, d_near, d_far):
        return "no"


@pytest.mark.parametrize(
    ("loss", "match"),
    [
        (Closed(), "stays here.*in your script"),
        (Elsewhere(), "only_here.*in your script"),
        (Textual(), "Textual.value"),
    ],
    ids=["closed", "elsewhere", "textual"],
)
def test_a_loss_that_workers_cannot_use_is_an_error(workers, monkeypatch, loss, match):
    monkeypatch.setattr(Elsewhere, "__module__", "only_here")
    monkeypatch.setitem(sys.modules, "only_here", sys.modules[__name__])
    with on_dask(workers), pytest.raises(TypeError, match=match):
        embedding(loss=loss)


# Who gets what.

THREADS = st.dictionaries(st.sampled_from("ABCDEFGH"), st.integers(1, 4), min_size=1)


@given(THREADS, THREADS, st.integers(1, 16), st.integers(1, 16))
def test_workers_get_groups_by_their_threads_and_keep_them(before, after, n_before, n_after):
    first = assigned([""] * n_before, before)
    assert first == sorted(first)
    for worker, threads in before.items():
        assert abs(first.count(worker) - n_before * threads / sum(before.values())) <= 1.0
    assert assigned(first, before) == first
    then = assigned([*first, *n_after * [""]][:n_after], after)
    assert len(then) == n_after
    assert set(then) <= set(after)
    for worker, threads in after.items():
        share = then.count(worker)
        assert abs(share - n_after * threads / sum(after.values())) <= 1.0
        had = first[:n_after].count(worker)
        kept = sum(one == other == worker for one, other in zip(first, then, strict=False))
        assert kept == min(had, share)


def test_ctrl_c_ends_a_sum_at_once(workers, monkeypatch):
    original = cluster.Cluster.result

    def result(self, future, homes):
        os.kill(os.getpid(), signal.SIGINT)
        return original(self, future, homes)

    with on_dask(workers):
        monkeypatch.setattr(cluster.Cluster, "result", result)
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            embedding()
        assert time.monotonic() - begun < 5.0
        monkeypatch.setattr(cluster.Cluster, "result", original)
        assert embedding().shape == (N, 2)
