# SPDX-License-Identifier: GPL-3.0-or-later
"""What valgrind found in a GDB with the plugin."""
import re

OURS = re.compile(r"\bmt_\w+ \(|PyInit_mtrace|mtrace\.abi3\.so")


def reports_of_ours(log):
    """Those of its reports, each with its stacks, in which code of the plugin's has a part."""
    text = re.sub(r"^==\d+== ?", "", log, flags=re.M)
    reports = [part for part in re.split(r"\n\n|\nThread \d+:\n", text) if "   at 0x" in part]
    return "\n\n".join(report for report in reports if OURS.search(report))
