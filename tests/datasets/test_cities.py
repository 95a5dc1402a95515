"""Tests of the city data: distances are right, and the share of wrong answers is exact."""

import numpy as np
import pytest

from erkle import triplets
from erkle.datasets import city_answers, load_cities

# Great-circle distances in kilometres between city centres, from atlases.
KNOWN_KM = {
    ("London", "Paris"): 344,
    ("Lisbon", "Moscow"): 3906,
    ("Berlin", "Rome"): 1184,
    ("Madrid", "Athens"): 2370,
    ("Helsinki", "Tallinn"): 82,
    ("Oslo", "Stockholm"): 417,
    ("Istanbul", "Athens"): 562,
}


def haversine_km(cities):
    radians = np.radians(cities.coordinates)
    latitude, longitude = radians[:, :1], radians[:, 1:]
    unit = np.hstack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])
    return 6371.0088 * np.arccos(np.clip(unit @ unit.T, -1, 1))


def test_each_city_has_its_own_name_and_lies_in_europe():
    cities = load_cities()
    assert len(set(cities.names)) == len(cities.names) >= 60
    assert cities.coordinates.shape == cities.positions.shape == (len(cities.names), 2)
    latitude, longitude = cities.coordinates.T
    assert latitude.min() > 34
    assert latitude.max() < 71
    assert longitude.min() > -25
    assert longitude.max() < 41


@pytest.mark.parametrize("pair", KNOWN_KM, ids="-".join)
def test_known_distances_are_right(pair):
    cities = load_cities()
    a, b = (cities.names.index(name) for name in pair)
    assert haversine_km(cities)[a, b] == pytest.approx(KNOWN_KM[pair], rel=0.02)


def test_distances_on_the_flat_map_are_within_6_per_cent_of_those_on_the_globe():
    cities = load_cities()
    flat = np.linalg.norm(cities.positions[:, None] - cities.positions, axis=2)
    apart = ~np.eye(len(flat), dtype=bool)
    ratio = flat[apart] / haversine_km(cities)[apart]
    assert ratio.min() > 0.94
    assert ratio.max() < 1.06


def test_east_is_right_and_north_is_up():
    cities = load_cities()
    places = dict(zip(cities.names, cities.positions, strict=True))
    assert places["Lisbon"][0] < places["Paris"][0] < places["Vienna"][0] < places["Moscow"][0]
    assert places["Valletta"][1] < places["Rome"][1] < places["Berlin"][1] < places["Tromsø"][1]


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.5, 1.0])
def test_exactly_the_given_share_of_answers_is_wrong(wrong):
    distances = haversine_km(load_cities())
    a, b, c = city_answers(2000, wrong=wrong).T
    assert np.mean(distances[a, b] > distances[a, c]) == wrong


def test_answers_are_valid_triplets_that_name_every_city():
    T = city_answers(5000)
    assert T.dtype == np.int64
    assert triplets.check(T, len(load_cities().names)) is T
    assert len(np.unique(T)) == len(load_cities().names)


def test_the_seed_determines_the_answers():
    np.testing.assert_array_equal(city_answers(50, random_state=3), city_answers(50, random_state=3))
    np.testing.assert_array_equal(
        city_answers(50, random_state=3), city_answers(50, random_state=np.random.default_rng(3))
    )
    assert not np.array_equal(city_answers(50, random_state=3), city_answers(50, random_state=4))


def test_zero_answers_give_an_empty_array():
    assert city_answers(0).shape == (0, 3)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
def test_a_share_outside_0_to_1_is_refused(wrong):
    with pytest.raises(ValueError, match="wrong is"):
        city_answers(10, wrong=wrong)


def test_a_negative_number_of_answers_is_refused():
    with pytest.raises(ValueError, match="n_answers is -1"):
        city_answers(-1)
