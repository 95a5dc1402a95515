"""Compiled arithmetic is done as it is written, so that it is the same whatever was inlined, compiled or on disk."""

import importlib
import pkgutil

from numba.core.dispatcher import Dispatcher

import erkle._compiled
from erkle import losses, steps


def test_sums_are_reordered_only_where_they_are_over_all_objects():
    # With more, a resumed run differed from an uninterrupted one where they had compiled in another order.
    names = [f"erkle._compiled.{found.name}" for found in pkgutil.iter_modules(erkle._compiled.__path__)]
    modules = [losses, steps, *map(importlib.import_module, names)]
    functions = {some for module in modules for some in vars(module).values() if isinstance(some, Dispatcher)}
    reordered = {function for function in functions if function.targetoptions.get("fastmath")}
    assert len(functions - reordered) > 40
    assert {function.__module__ for function in reordered} == {"erkle._compiled.symmetric"}
    assert all(function.targetoptions["fastmath"] == {"reassoc"} for function in reordered)
