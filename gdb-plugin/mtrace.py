# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads mtrace into GDB: `source build/mtrace.py`, or this line in ~/.gdbinit."""
import importlib.machinery
import importlib.util
import os
import sys

import gdb


def _load():
    # __file__ may be that of a Python script which sources this one.
    here = os.path.dirname(os.path.realpath(_load.__code__.co_filename))
    places = [here, os.path.join(here, "..", "..", "lib", "mtrace")]
    paths = [os.path.join(place, "mtrace.abi3.so") for place in places]
    path = next((path for path in paths if os.path.exists(path)), None)
    if path is None:
        raise gdb.GdbError(f"mtrace.abi3.so is not in {here}: build it with `make`")
    loader = importlib.machinery.ExtensionFileLoader("mtrace", path)
    spec = importlib.util.spec_from_file_location("mtrace", path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["mtrace"] = module


if "mtrace" not in sys.modules:
    _load()
import mtrace  # noqa: E402  (the module above)
