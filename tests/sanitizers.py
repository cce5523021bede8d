# SPDX-License-Identifier: GPL-3.0-or-later
"""What ASan and UBSan found in a GDB, and in the plugin."""
import re

BEGINNING = re.compile(r"^(?=.*(?:ERROR: AddressSanitizer|runtime error): )", re.M)
PLACE = re.compile(r"^ +#\d+ 0x\w+ (in (?!__interceptor_).*)$", re.M)


def reports_by_place(text):
    """Each report by what it begins with, without addresses, and the innermost function that is known."""
    reports = {}
    for report in BEGINNING.split(text)[1:]:
        error = re.sub(r"==\d+==|0x\w+", "", report.splitlines()[0].split(" on address")[0])
        place = PLACE.search(report)
        reports[f"{error} {place[1] if place else ''}"] = report
    return reports


def is_of_ours(place):
    """Whether that is in the plugin, whose sources have no directory before them."""
    return bool(re.search(r"(?<![\w/])(?:core|gdb-plugin|ptrace)/|mtrace\.abi3\.so", place))
