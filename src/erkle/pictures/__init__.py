"""Pictures of maps, of errors and of how far one may trust a prediction.

A function here takes data and returns a matplotlib Figure; nothing is shown, written or left changed.
Text from outside (names, titles) is drawn letter by letter: no mathematics, no markup, no line breaks.
Matplotlib is imported when the first picture is drawn.
"""

from erkle.pictures.errors import errors_figure
from erkle.pictures.maps import map_figure, maps_figure
from erkle.pictures.reliability import reliability_figure
from erkle.pictures.style import save

__all__ = ["errors_figure", "map_figure", "maps_figure", "reliability_figure", "save"]
