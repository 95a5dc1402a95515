"""Laws of the prior: it is the one of the formula, and fits minimise what the formula says."""

import numpy as np
import pytest

import naive
from erkle import AnswerModel
from erkle._compiled import fitting
from erkle.features import Features
from erkle.features.priors import FeaturePrior
from made_up_features import answers, points, vectors

N, RANK, RIDGE = 12, 3, 1.7
X = points(N)
MODEL = AnswerModel(1.5, 0.4, 0.05)


def features(gaps=False):
    clip, sizes = vectors(X, 40), vectors(X, 4, seed=5)
    if gaps:
        sizes[:3] = np.nan
    return Features.of({"clip": clip, "sizes": sizes}, N)


def covariance(given, shares, ridge):
    columns = given.block_of_axis
    blocks = [(given.axes[:, columns == b], given.rest[:, b]) for b in range(len(given.names))]
    return naive.feature_covariance(blocks, [dict(shares).get(name, 0.0) for name in given.names], ridge)


SHARES = pytest.mark.parametrize(
    "shares", [(("clip", 0.7),), (("clip", 0.5), ("sizes", 0.4)), (("sizes", 0.05),)], ids=str
)
GAPS = pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])


@SHARES
@GAPS
def test_variables_have_the_covariance_of_the_formula(shares, gaps):
    given = features(gaps)
    prior = FeaturePrior.of(given, shares).with_rank(RANK)
    L = np.column_stack([prior.coordinates(np.column_stack([e, e, e, e]), RIDGE)[:, 0] for e in np.eye(N)])
    L -= prior.mean[:, :1]
    np.testing.assert_allclose(L @ L.T, covariance(given, shares, RIDGE), atol=1e-9)


@SHARES
def test_standardising_and_coordinates_undo_each_other(shares):
    prior = FeaturePrior.of(features(), shares).with_rank(RANK)
    at = np.random.default_rng(0).standard_normal((N, RANK + 1))
    np.testing.assert_allclose(prior.coordinates(prior.standardised(at, RIDGE), RIDGE), at, atol=1e-9)


@SHARES
@GAPS
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_the_objective_is_that_of_the_formula_and_its_gradient_the_derivative(shares, gaps, shift):
    given, T = features(gaps), answers(X, 50)
    prior, lapses = FeaturePrior.of(given, shares).with_rank(RANK), np.full(50, MODEL.lapse)
    Z = np.random.default_rng(1).standard_normal((N, RANK + 1))
    compiled = prior.compiled(RIDGE)

    def objective(Z, G):
        return fitting.objective(MODEL, T, lapses, fitting.Penalty(1.0, shift), compiled, Z, G)

    G, unused = np.empty_like(Z), np.empty_like(Z)
    at = prior.coordinates(Z, RIDGE)
    off = at[:, :-1] - prior.mean
    penalty = np.trace(off.T @ np.linalg.solve(covariance(given, shares, RIDGE), off))
    expected = naive.fit_objective(MODEL, T, lapses, 0.0, shift, at) + penalty
    assert objective(Z, G) == pytest.approx(expected)
    for place in [(0, 0), (3, 2), (N - 1, 1), (5, RANK)]:
        step = np.zeros_like(Z)
        step[place] = 1e-6
        slope = (objective(Z + step, unused) - objective(Z - step, unused)) / 2e-6
        assert G[place] == pytest.approx(slope, abs=1e-5)


@SHARES
def test_the_mean_has_the_kernel_of_the_features(shares):
    given = features()
    prior = FeaturePrior.of(given, shares)
    total = sum(share for _, share in shares)
    scales = np.array([dict(shares).get(name, 0.0) / total for name in given.names])[given.block_of_axis]
    np.testing.assert_allclose(prior.mean @ prior.mean.T, given.axes * scales @ given.axes.T, atol=1e-9)


@SHARES
def test_the_explained_part_is_the_conditional_mean_of_further_objects(shares):
    given = features()
    prior = FeaturePrior.of(given, shares).with_rank(RANK)
    new = given.rows({"clip": vectors(X, 40, seed=9)[:2], "sizes": vectors(X, 4, seed=9)[:2]})
    at = np.random.default_rng(1).standard_normal((N, RANK))
    share = np.array([dict(shares).get(name, 0.0) for name in given.names])[given.block_of_axis]
    between = (new.axes * share) @ given.axes.T / RIDGE
    expected = new.axes @ prior.weights + between @ np.linalg.solve(covariance(given, shares, RIDGE), at - prior.mean)
    np.testing.assert_allclose(new.axes @ prior.explained(at), expected, atol=1e-9)


def test_in_the_frame_of_a_rotated_and_scaled_mean_the_map_gives_that_mean():
    given = features()
    prior = FeaturePrior.of(given, (("clip", 0.7),)).with_rank(RANK)
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((RANK, RANK)))[0]
    at = 2.5 * prior.mean @ rotation
    np.testing.assert_allclose(given.axes @ prior.in_frame_of(at).explained(at), at, atol=1e-9)


@SHARES
@GAPS
def test_errors_are_those_of_places_by_the_other_rows(shares, gaps):
    given = features(gaps)
    prior, at = FeaturePrior.of(given, shares).with_rank(2), X[:, :2]
    F, S, found = given.axes, np.diag(prior.scales), prior.errors(at)
    for i in range(N):
        others = np.arange(N) != i
        weighted = (F[others] @ S / prior.own[others, None]).T
        B = S @ np.linalg.solve(np.eye(len(S)) + weighted @ F[others] @ S, weighted @ (at - prior.mean)[others])
        np.testing.assert_allclose(found[i], at[i] - F[i] @ (prior.weights + B), atol=1e-8)
