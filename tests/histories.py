# SPDX-License-Identifier: GPL-3.0-or-later
"""What `mtrace history` prints."""
import re


def opened(lines):
    """The functions that are still open, without their arguments."""
    return [found[1] for line in lines
            if (found := re.match(r"\s*~?[-0-9.]+ \S+ +open +([^\s(]+)", line))]
