"""Pictures of maps, of errors and of how reliable predictions are.

Each function takes data and returns a matplotlib Figure. It shows and writes nothing, and changes no settings.
Names and titles are drawn as they are: mathematics and markup are not interpreted, and line breaks become spaces.
Matplotlib is imported when the first picture is drawn.
"""

from erkle.pictures.errors import errors_figure
from erkle.pictures.maps import map_figure, maps_figure
from erkle.pictures.reliability import reliability_figure
from erkle.pictures.style import save

__all__ = ["errors_figure", "map_figure", "maps_figure", "reliability_figure", "save"]
