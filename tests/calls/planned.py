# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as mtdb prints it, and the same file as binutils see it: what must hold between the two."""
import bisect
import collections
import re
import subprocess

LONG, SHORT = 5, 2

Patch = collections.namedtuple("Patch", "start end entry ret hole redirect again name tactic")
Insn = collections.namedtuple("Insn", "start end text")
Left = collections.namedtuple("Left", "address kind name reason")

PATCH = re.compile(r"^ *0x([0-9a-f]+) +(\d+) bytes( entry)?(?: return@0x([0-9a-f]+))?"
                   r"(?: hole@0x([0-9a-f]+))?(?: redirect@0x([0-9a-f]+))?"
                   r"(?: again@0x([0-9a-f]+))?(?: stamp)? (.*): ([^:]*)$")
LEFT = re.compile(r"^ *0x([0-9a-f]+) (entry|return) +(.*): ([^:]*)$")
COUNT = re.compile(r"^(entries|returns) +(\d+) of (\d+)", re.M)
BRANCH = re.compile(r"^(?:\S+ )?(?:j\w+|call|loop\w*|xbegin)[a-z,]* +(?:\w+,)?(?:0x)?([0-9a-f]+)(?: <.*)?$")
LEA = re.compile(r"^lea .*\(%rip\).*# ([0-9a-f]+)")
# A jump to where the stack pointer was set anew counts as one.
RETURN = re.compile(r"^((repz|bnd|rep|notrack) )*(ret|jmp +\*)")
PADDING = re.compile(r"^((data16|cs|ds|es|rex.W) )*(nop|xchg +%ax,%ax|int3)")


def output(*command):
    return subprocess.run([str(word) for word in command], check=False, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


class Plan:
    """What `mtdb plan` says."""

    def __init__(self, mtdb, path):
        text = output(mtdb, "plan", "--patches", "--verbose", path)
        self.counts = {kind: (int(done), int(of)) for kind, done, of in COUNT.findall(text)}
        self.summary = text[: text.index("\npatches ")]
        self.patches, self.left = [], []
        for line in text[text.index("\npatches ") + 1 :].splitlines()[1:]:
            if match := PATCH.match(line):
                start, size, entry, ret, hole, redirect, again, name, tactic = match.groups()
                start = int(start, 16)
                self.patches.append(Patch(start, start + int(size), bool(entry),
                                          int(ret, 16) if ret else None,
                                          int(hole, 16) if hole else None,
                                          int(redirect, 16) if redirect else None,
                                          int(again, 16) if again else None, name, tactic))
            else:
                address, kind, name, reason = LEFT.match(line).groups()
                self.left.append(Left(int(address, 16), kind, name, reason))

    def share(self, kind):
        done, of = self.counts[kind]
        return 100 * done / of if of else 100.0


class Truth:
    """What objdump, readelf and nm say."""

    def __init__(self, path):
        self.insns, self.targets = {}, set()
        self.sources = collections.defaultdict(list)  # of direct branches, by target
        self.read_code(path)
        self.read_relocations(path)
        self.read_frames(path)
        self.functions = set()
        for line in output("readelf", "-sW", path).splitlines():
            words = line.split()
            if len(words) >= 8 and words[3] in ("FUNC", "IFUNC") and words[6] not in ("UND", "ABS"):
                self.functions.add((int(words[1], 16), int(words[2], 0), words[7]))
        self.targets |= {start for start, _, _ in self.functions}
        self.sorted_targets = sorted(self.targets | set(self.sources))

    def forget_redirected(self, plan):
        """A return that all branches were redirected from is no target any more."""
        patches = {}
        for patch in plan.patches:
            if patch.redirect:
                patches.setdefault(patch.redirect, []).append(patch)
        for address, those in patches.items():
            inside = all(any(patch.start <= source < patch.end for patch in those)
                         for source in self.sources[address])
            assert self.insns[address].text == "ret", f"{address:#x} is redirected"
            if inside and address not in self.targets:
                del self.sources[address]
        self.sorted_targets = sorted(self.targets | set(self.sources))

    def read_code(self, path):
        for line in output("objdump", "-dwz", path).splitlines():
            words = line.split("\t")
            if len(words) < 2 or not words[0].endswith(":"):
                continue
            start = int(words[0].strip(" :"), 16)
            text = words[2].strip() if len(words) > 2 else "(bad)"
            self.insns[start] = Insn(start, start + len(words[1].split()), text)
            if match := BRANCH.match(text):
                self.sources[int(match[1], 16)].append(start)
            elif match := LEA.match(text):
                self.targets.add(int(match[1], 16))

    def read_relocations(self, path):
        for line in output("readelf", "-rW", path).splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in ("R_X86_64_RELATIVE", "R_X86_64_IRELATIV"):
                self.targets.add(int(words[3], 16))
            elif len(words) == 7 and words[2] == "R_X86_64_64" and words[5] == "+":
                self.targets.add(int(words[3], 16) + int(words[6], 16))

    def read_frames(self, path):
        frames = output("readelf", "--debug-dump=frames", path)
        self.fdes = [(int(a, 16), int(b, 16))
                     for a, b in re.findall(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)$", frames, re.M)]
        self.targets |= {start for start, _ in self.fdes}

    def target_within(self, low, high):
        """A target in [low, high), or None."""
        at = bisect.bisect_left(self.sorted_targets, low)
        found = self.sorted_targets[at] if at < len(self.sorted_targets) else high
        return found if found < high else None

    def returns(self):
        """The addresses of returns within what .eh_frame describes."""
        ends = []
        fdes = sorted(self.fdes)
        starts = [start for start, _ in fdes]
        for start, insn in self.insns.items():
            if re.match(r"^(repz |bnd |rep )?ret", insn.text):
                at = bisect.bisect_right(starts, start) - 1
                if at >= 0 and start < fdes[at][1]:
                    ends.append(start)
        return ends


def displaced(truth, patch):
    """The instructions of a patch, and where padding behind them begins; AssertionError if they are
    not whole."""
    at, found = patch.start, []
    while at < patch.end:
        insn = truth.insns.get(at)
        assert insn, f"{at:#x} in {patch} is inside of an instruction"
        found.append(insn)
        at = insn.end
        if re.match(r"^((repz|bnd|rep|notrack) )*(ret|jmp)", insn.text):
            break
    assert at <= patch.end, f"{patch} cuts {found[-1]}"
    dead = at
    while at < patch.end:
        insn = truth.insns.get(at)
        assert insn and PADDING.match(insn.text), f"{at:#x} in {patch} is no padding: {insn}"
        at = insn.end
    return found, dead


def check_patch(truth, patch):
    insns, _ = displaced(truth, patch)
    target = truth.target_within(patch.start + 1, patch.end)
    assert target is None, f"{target:#x} is jumped to, inside of {patch}"
    for insn in insns[:-1]:
        assert not re.match(r"^(\w+ )?(call|syscall|hlt|int)", insn.text), f"{insn} in {patch}"
    if patch.ret is not None:
        assert patch.ret == insns[-1].start, patch
        assert RETURN.match(insns[-1].text), patch
    if patch.end - patch.start < LONG or patch.hole:
        assert patch.hole and patch.end - patch.start >= SHORT, patch
        assert -128 <= patch.hole - (patch.start + SHORT) <= 127, patch


def check_holes(truth, plan):
    """Holes lie in dead bytes, and nothing lies over another."""
    used = []
    for patch in plan.patches:
        size = SHORT if patch.hole else LONG
        used.append((patch.start, patch.start + size, patch))
        if patch.hole:
            used.append((patch.hole, patch.hole + LONG, patch))
    used.sort(key=lambda one: one[:2])
    for before, behind in zip(used, used[1:]):
        assert before[1] <= behind[0], f"{before} overlaps {behind}"
    starts = [patch.start for patch in plan.patches]
    for patch in plan.patches:
        if not patch.hole:
            continue
        host = plan.patches[bisect.bisect_right(starts, patch.hole) - 1]
        if host.start <= patch.hole and patch.hole + LONG <= host.end:
            continue
        assert truth.target_within(patch.hole, patch.hole + LONG) is None, patch
        check_dead(truth, patch.hole, patch.hole + LONG)


def check_dead(truth, start, end):
    at = start
    while at not in truth.insns:
        at -= 1
    while at < end:
        insn = truth.insns[at]
        assert PADDING.match(insn.text), f"{at:#x} is no padding: {insn.text}"
        at = insn.end


def check_loops(truth, plan):
    """Each branch of a recorded function to its own entry is displaced, and leads past it."""
    starts = [patch.start for patch in plan.patches]
    bounds = sorted((start, start + size) for start, size, _ in truth.functions if size)
    firsts = [start for start, _ in bounds]
    for patch in plan.patches:
        if not patch.entry:
            continue
        at = bisect.bisect_right(firsts, patch.start) - 1
        if at < 0 or patch.start >= bounds[at][1]:
            continue
        for source in truth.sources.get(patch.start, []):
            if not bounds[at][0] <= source < bounds[at][1] or "call" in truth.insns[source].text:
                continue
            other = plan.patches[bisect.bisect_right(starts, source) - 1]
            assert other.start <= source < other.end and other.again == patch.start, \
                f"{source:#x} jumps back to {patch}"


def check(truth, plan):
    check_loops(truth, plan)
    truth.forget_redirected(plan)
    for before, behind in zip(plan.patches, plan.patches[1:]):
        assert before.end <= behind.start, f"{before} overlaps {behind}"
    for patch in plan.patches:
        check_patch(truth, patch)
    check_holes(truth, plan)
    known = {patch.ret for patch in plan.patches} | {patch.redirect for patch in plan.patches}
    known |= {left.address for left in plan.left if left.kind == "return"}
    missing = [hex(address) for address in truth.returns() if address not in known]
    assert not missing, f"returns that are neither recorded nor listed: {missing[:10]}"
