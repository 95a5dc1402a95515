"""Laws of the city data: the map is Europe, and so many answers are wrong as were asked for."""

import numpy as np
import pytest

from erkle import triplets
from erkle.datasets import city_answers, load_cities

# Great-circle kilometres between centres, as atlases give them.
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


def test_each_city_has_a_name_and_a_place():
    cities = load_cities()
    assert len(set(cities.names)) == len(cities.names) >= 60
    assert cities.coordinates.shape == cities.positions.shape == (len(cities.names), 2)
    latitude, longitude = cities.coordinates.T
    assert latitude.min() > 34
    assert latitude.max() < 71
    assert longitude.min() > -25
    assert longitude.max() < 41


@pytest.mark.parametrize("pair", KNOWN_KM, ids="-".join)
def test_cities_are_as_far_apart_as_everybody_knows(pair):
    cities = load_cities()
    a, b = (cities.names.index(name) for name in pair)
    assert haversine_km(cities)[a, b] == pytest.approx(KNOWN_KM[pair], rel=0.02)


def test_the_flat_map_has_the_distances_of_the_globe_within_a_few_per_cent():
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
def test_exactly_the_share_asked_for_is_answered_wrong(wrong):
    distances = haversine_km(load_cities())
    a, b, c = city_answers(2000, wrong=wrong).T
    assert np.mean(distances[a, b] > distances[a, c]) == wrong


def test_answers_are_sound_triplets_that_name_every_city():
    T = city_answers(5000)
    assert T.dtype == np.int64
    assert triplets.check(T, len(load_cities().names)) is T
    assert len(np.unique(T)) == len(load_cities().names)


def test_the_same_seed_gives_the_same_answers_and_another_others():
    np.testing.assert_array_equal(city_answers(50, random_state=3), city_answers(50, random_state=3))
    np.testing.assert_array_equal(
        city_answers(50, random_state=3), city_answers(50, random_state=np.random.default_rng(3))
    )
    assert not np.array_equal(city_answers(50, random_state=3), city_answers(50, random_state=4))


def test_no_answers_are_an_empty_array_of_triplets():
    assert city_answers(0).shape == (0, 3)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
def test_a_share_lies_from_0_to_1(wrong):
    with pytest.raises(ValueError, match="pass a share from 0 to 1"):
        city_answers(10, wrong=wrong)


def test_a_number_of_answers_is_not_negative():
    with pytest.raises(ValueError, match="n_answers is -1; pass"):
        city_answers(-1)
