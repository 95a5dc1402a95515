"""European cities, and simulated answers to the question *Is A nearer to B or to C?*

Great-circle distances give the right answers, and a chosen share of the answers is wrong. The same seed gives the same
answers. Everybody can see whether the learned map is right.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from erkle import triplets
from erkle.checks import random_generator, share, whole

Floats = npt.NDArray[np.float64]

EARTH_RADIUS_KM = 6371.0088

# The centre of the European Union's equal-area grid (ETRS89-LAEA).
CENTRE_LATITUDE, CENTRE_LONGITUDE = 52.0, 10.0

# Degrees north and east of each city centre, to two decimals.
CITIES = {
    "Amsterdam": (52.37, 4.90),
    "Athens": (37.98, 23.73),
    "Barcelona": (41.39, 2.17),
    "Belfast": (54.60, -5.93),
    "Belgrade": (44.79, 20.45),
    "Bergen": (60.39, 5.32),
    "Berlin": (52.52, 13.40),
    "Bilbao": (43.26, -2.93),
    "Bordeaux": (44.84, -0.58),
    "Brussels": (50.85, 4.35),
    "Bucharest": (44.43, 26.10),
    "Budapest": (47.50, 19.04),
    "Cagliari": (39.22, 9.12),
    "Chișinău": (47.01, 28.86),
    "Copenhagen": (55.68, 12.57),
    "Dublin": (53.35, -6.26),
    "Edinburgh": (55.95, -3.19),
    "Frankfurt": (50.11, 8.68),
    "Gdańsk": (54.35, 18.65),
    "Geneva": (46.20, 6.14),
    "Hamburg": (53.55, 9.99),
    "Helsinki": (60.17, 24.94),
    "Heraklion": (35.34, 25.14),
    "Istanbul": (41.01, 28.98),
    "Kharkiv": (49.99, 36.23),
    "Kraków": (50.06, 19.94),
    "Kyiv": (50.45, 30.52),
    "Lisbon": (38.72, -9.14),
    "London": (51.51, -0.13),
    "Lviv": (49.84, 24.03),
    "Lyon": (45.76, 4.84),
    "Madrid": (40.42, -3.70),
    "Marseille": (43.30, 5.37),
    "Milan": (45.46, 9.19),
    "Minsk": (53.90, 27.57),
    "Moscow": (55.76, 37.62),
    "Munich": (48.14, 11.58),
    "Murmansk": (68.97, 33.08),
    "Naples": (40.85, 14.27),
    "Nicosia": (35.19, 33.38),
    "Odesa": (46.48, 30.72),
    "Oslo": (59.91, 10.75),
    "Oulu": (65.01, 25.47),
    "Palermo": (38.12, 13.36),
    "Paris": (48.86, 2.35),
    "Porto": (41.15, -8.61),
    "Prague": (50.08, 14.44),
    "Reykjavík": (64.15, -21.94),
    "Riga": (56.95, 24.11),
    "Rome": (41.90, 12.50),
    "Saint Petersburg": (59.93, 30.34),
    "Sarajevo": (43.86, 18.41),
    "Seville": (37.39, -5.98),
    "Sofia": (42.70, 23.32),
    "Stockholm": (59.33, 18.07),
    "Tallinn": (59.44, 24.75),
    "Thessaloniki": (40.64, 22.94),
    "Tirana": (41.33, 19.82),
    "Tromsø": (69.65, 18.96),
    "Trondheim": (63.43, 10.40),
    "Valletta": (35.90, 14.51),
    "Vienna": (48.21, 16.37),
    "Vilnius": (54.69, 25.28),
    "Warsaw": (52.23, 21.01),
    "Zagreb": (45.81, 15.98),
}


class Cities(NamedTuple):
    """Names, coordinates on the globe and positions on a flat map, one row per city."""

    names: tuple[str, ...]
    coordinates: Floats  # latitude and longitude in degrees, shape (65, 2)
    positions: Floats  # kilometres east and north of the map's centre, shape (65, 2)


def load_cities() -> Cities:
    """Names, coordinates in degrees and positions in kilometres of 65 European cities, in alphabetical order.

    Positions use Lambert's azimuthal equal-area projection around 52° N 10° E, the usual projection for Europe.

    Examples
    --------
    >>> cities = load_cities()
    >>> cities.names[:3]
    ('Amsterdam', 'Athens', 'Barcelona')
    >>> cities.positions.shape
    (65, 2)
    """
    coordinates = np.array(list(CITIES.values()), dtype=np.float64)
    return Cities(tuple(CITIES), coordinates, _flat_km(coordinates))


def city_answers(
    n_answers: int, wrong: float = 0.1, random_state: int | np.random.Generator | None = 0
) -> npt.NDArray[np.int64]:
    """Random questions about the cities, answered according to distance, with a share of wrong answers.

    Parameters
    ----------
    n_answers : int
        The number of answers.
    wrong : float
        Share of wrong answers, from 0 to 1.
    random_state : int, Generator or None
        Seed of the questions and of the wrong answers.

    Returns
    -------
    integer array of shape (n_answers, 3)
        Rows (anchor, near, far) of indices into ``load_cities().names``.

    Examples
    --------
    >>> city_answers(1000).shape
    (1000, 3)
    """
    whole(n_answers, "n_answers", 0, "it is the number of answers to draw")
    share(wrong, "wrong")
    rng = random_generator(random_state, "random_state")
    T = triplets.sample(len(CITIES), n_answers, rng)
    distances = _great_circle_km(load_cities().coordinates)
    a, b, c = T.T
    answers = distances[a, b] < distances[a, c]
    answers[rng.permutation(n_answers)[: round(wrong * n_answers)]] ^= True
    return triplets.orient(T, answers)


def _great_circle_km(coordinates: Floats) -> Floats:
    """Distances between all pairs, from the haversine formula."""
    latitude, longitude = np.radians(coordinates).T[:, :, None]
    haversine = (
        np.sin((latitude - latitude.T) / 2) ** 2
        + np.cos(latitude) * np.cos(latitude.T) * np.sin((longitude - longitude.T) / 2) ** 2
    )
    return np.asarray(2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(haversine)), dtype=np.float64)


def _flat_km(coordinates: Floats) -> Floats:
    """Kilometres east and north in the azimuthal equal-area projection of a sphere."""
    latitude = np.radians(coordinates[:, 0])
    longitude = np.radians(coordinates[:, 1] - CENTRE_LONGITUDE)
    centre = np.radians(CENTRE_LATITUDE)
    height = np.sin(centre) * np.sin(latitude) + np.cos(centre) * np.cos(latitude) * np.cos(longitude)
    east = np.cos(latitude) * np.sin(longitude)
    north = np.cos(centre) * np.sin(latitude) - np.sin(centre) * np.cos(latitude) * np.cos(longitude)
    return np.asarray(EARTH_RADIUS_KM * np.sqrt(2 / (1 + height)) * [east, north], dtype=np.float64).T
