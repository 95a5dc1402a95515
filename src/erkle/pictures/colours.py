"""A colour for every place of a map, so that the same object is found again in another map.

Hue goes from west to east, from blue over violet and red to amber; lightness from south to north. Neighbours
have neighbouring colours. Lightness is that which is seen (OKLCh), so north and south differ without hue too.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Degrees around the colour circle, and lightness and chroma of OKLCh.
WEST, EAST = 255.0, 430.0
SOUTH, NORTH = 0.42, 0.76
CHROMA = 0.135

# OKLab to cone responses, and those to linear sRGB (Björn Ottosson, "A perceptual color space", 2020).
TO_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def place_colours(X: Floats) -> Floats:
    """Red, green and blue from 0 to 1, shape (n_objects, 3), of places of shape (n_objects, 2).

    >>> place_colours(np.array([[0.0, 0.0], [1.0, 1.0]])).shape
    (2, 3)
    """
    extent = np.ptp(X, axis=0)
    east, north = ((X - X.min(axis=0)) / np.where(extent > 0, extent, 1.0)).T
    hue = np.radians(WEST + (EAST - WEST) * east)
    lightness = SOUTH + (NORTH - SOUTH) * north
    lab = np.stack([lightness, CHROMA * np.cos(hue), CHROMA * np.sin(hue)], axis=1)
    linear = np.clip((lab @ TO_CONES.T) ** 3 @ TO_LINEAR.T, 0.0, 1.0)
    gamma = 1.055 * linear ** (1 / 2.4) - 0.055
    return np.asarray(np.where(linear <= 0.0031308, 12.92 * linear, gamma), dtype=np.float64)
