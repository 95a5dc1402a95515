"""One profile for all properties: the same examples every time, and no deadline, for the first call compiles."""

from hypothesis import settings

settings.register_profile("erkle", deadline=None, derandomize=True, database=None)
settings.load_profile("erkle")
