# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done inside the virtual machine, each by a line of shell, and what has to come of it, judged
outside by what it left."""
import collections
import re
import subprocess

from streams import seen_of

Case = collections.namedtuple("Case", "name command check")
CASES = []
GOOD = 7  # the exit status of programs/played.c
RUN = "mtdb run --engine=pt --history=0 -f text -o timeline.txt --record perf.data"


def case(command):
    def enter(check):
        CASES.append(Case(check.__name__, command, check))
        return check
    return enter


class Result:
    """What a case left: status, output, files; and what the world outside knows."""

    def __init__(self, folder, truth, perf, root):
        self.folder, self.truth, self.perf, self.root = folder, truth, perf, root
        self.status = int((folder / "status").read_text())
        self.output, self.errors = self.read("output"), self.read("errors")

    def read(self, name):
        return (self.folder / name).read_text(errors="replace")

    def branches(self, recording="perf.data"):
        """What perf decodes of a recording: as seen_of()."""
        done = subprocess.run([self.perf, "script", "-i", self.folder / recording, "--itrace=be", "--symfs",
                               self.root, "-F", "tid,ip,addr,flags"], text=True, capture_output=True, check=True)
        assert "instruction trace error" not in done.stdout + done.stderr, done.stdout
        matches = [re.match(r"\s*(\d+)\s+(.*?)\s+([0-9a-f]+) =>\s+([0-9a-f]+)\s*$", line)
                   for line in done.stdout.splitlines()]
        return seen_of("\n".join(self.branch(match) for match in matches if match))

    @staticmethod
    def branch(match):
        flags = match[2].split()
        if "strt" in flags:
            kind = "start"
        elif "end" in flags:
            kind = "stop" if "async" in flags else "syscall"
        else:
            kind = next((word for word in ("call", "return") if word in flags), "jump")
        return f"{match[1]} {kind} {match[3]} {match[4]}"


@case("mtdb doctor")
def doctor(result):
    assert result.status == 0, result.errors
    assert re.search(r"^pt\s+yes", result.output, re.M), result.output


@case(f"{RUN} -- /programs/played")
def run(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["played"]
