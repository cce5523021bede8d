# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fixture that uses the core is linked with."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


def core_library(build):
    """The core's archive, and the libraries that the Makefile links it with."""
    makefile = (ROOT / "Makefile").read_text()
    return [build / "libmtrace-core.a", *re.search(r"^CORE_LIBS := (.*)$", makefile, re.M)[1].split()]
