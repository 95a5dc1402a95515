"""Compiled arithmetic is not reordered, so results do not depend on what was inlined or cached."""

import importlib
import pkgutil

from numba.core.dispatcher import Dispatcher

import erkle._compiled
from erkle import losses, steps


def test_only_sums_over_all_objects_are_reordered():
    # With more reordering, a resumed run differed from an uninterrupted run after compiling in another order.
    names = [f"erkle._compiled.{found.name}" for found in pkgutil.iter_modules(erkle._compiled.__path__)]
    modules = [losses, steps, *map(importlib.import_module, names)]
    functions = {some for module in modules for some in vars(module).values() if isinstance(some, Dispatcher)}
    reordered = {function for function in functions if function.targetoptions.get("fastmath")}
    assert len(functions - reordered) > 40
    assert {function.__module__ for function in reordered} == {"erkle._compiled.symmetric"}
    assert all(function.targetoptions["fastmath"] == {"reassoc"} for function in reordered)
