# SPDX-License-Identifier: GPL-3.0-or-later
"""What was called, as a timeline of ours says it, and as callgrind and uftrace do."""
import collections
import json
import os
import re
import subprocess

Call = collections.namedtuple("Call", "depth address name")

# Of the C runtime: called before main, or after it, or compiled without instrumentation.
RUNTIME = {"_start", "_init", "_fini", "frame_dummy", "register_tm_clones", "(below main)",
           "deregister_tm_clones", "__do_global_dtors_aux", "__gmon_start__", "atexit"}


END = re.compile(r'{"ph":"E","pid":\d+,"tid":(\d+)')


def begins_and_ends(path):
    """(thread, call that begins or None for an end) of a timeline in JSON, a thread at a time,
    without those of inlined calls and those that stand for code made at run time."""
    stacks, depths = collections.defaultdict(list), collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if match := END.match(line):
                thread = int(match[1])
                if stacks[thread].pop():
                    depths[thread] -= 1
                    yield thread, None
            elif line.startswith('{"ph":"B"'):
                event = json.loads(line.rstrip(",\n"))
                thread, made = event["tid"], event["name"].startswith("[JIT: ")
                is_call = event["cat"] != "inlined" and not made
                stacks[thread].append(is_call)
                if is_call:
                    yield thread, Call(depths[thread], int(event["args"]["address"], 16),
                                       event["name"])
                    depths[thread] += 1


def sequences(path):
    """{thread: its calls in their order}"""
    found = collections.defaultdict(list)
    for thread, call in begins_and_ends(path):
        if call:
            found[thread].append(call)
    return found


class Symbols:
    """Where a program's functions are."""

    def __init__(self, program):
        self.at, self.names = {}, {}
        lines = subprocess.run(["nm", program], check=True, text=True, capture_output=True).stdout
        for line in lines.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tTwWi":
                self.at[int(words[0], 16)] = words[2]
                self.names[words[2]] = int(words[0], 16)

    def same_name(self, name):
        """Of all the names that its function has, always the same one."""
        return self.at[self.names[name]]

    def depths_and_names(self, sequences):
        """{thread: [(depth, name)…]}, without the C runtime's."""
        main = [call for calls in sequences.values() for call in calls if call.name == "main"]
        bias = main[0].address - self.names["main"]
        return {thread: [(call.depth, self.at[call.address - bias]) for call in calls
                         if call.name not in RUNTIME]
                for thread, calls in sequences.items()}

    def file_addresses(self, calls):
        """CALLS, by addresses of the file; main tells where it was loaded."""
        main = next(call.address for call in calls if call.name == "main")
        bias = main - self.names["main"]
        return [call._replace(address=call.address - bias) for call in calls]


def jumps_among(addresses, program):
    """Those at which a jump stands."""
    lines = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True, text=True,
                           capture_output=True).stdout
    return {int(match[1], 16) for match in re.finditer(r"^ +([0-9a-f]+):\t(?:\w+ )?j", lines, re.M)
            if int(match[1], 16) in addresses}


def callgrind(valgrind, folder, command, **options):
    """How often each instruction of COMMAND's program ran, by its address in the file.  At the
    first one of a function that is how often it was entered, whatever led there, but for loops that
    begin with the function: callgrind takes each round for a call."""
    out, program = folder / "callgrind.out", os.path.realpath(command[0])
    subprocess.run([valgrind, "--tool=callgrind", "--dump-instr=yes", "--compress-strings=no",
                    "--compress-pos=no", f"--callgrind-out-file={out}", *command],
                   check=False, capture_output=True, timeout=600, **options)
    counts, here, is_call = collections.Counter(), False, False
    rounds, function, callee, target = [], "", "", ("0", "0")  # from, to, how often
    with open(out, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("ob="):
                here = line[3:].strip() == program
            elif line.startswith("calls="):
                is_call = True  # and the next line is what was spent in there
                target = line[6:].split()[:2]
            elif line.startswith(("fn=", "cfn=")):
                kind, name = line.strip().split("=", 1)
                callee = re.sub(r"'\d+$", "", name)
                function = callee if kind == "fn" else function
            elif line.startswith("0x"):
                if here and is_call and callee == function:
                    rounds.append((int(line.split()[0], 16), int(target[1], 16), int(target[0])))
                if here and not is_call:
                    address, _, count = line.split()
                    counts[int(address, 16)] += int(count)
                is_call = False
    jumps = jumps_among({source for source, _, _ in rounds}, program)
    for source, to, count in rounds:
        counts[to] -= count if source in jumps else 0
    return counts


UFTRACE = re.compile(r"^\S+ +(\d+): \[entry\] (.*)\([0-9a-f]+\) depth: (\d+)$", re.M)


def uftrace(tool, folder, symbols, command, *flags, **options):
    """{thread: [(depth, name)…]} of a program built by -pg; what it calls in libraries, which only
    tells uftrace where a longjmp goes, is left out."""
    data = folder / "uftrace"
    subprocess.run([tool, "record", "--no-event", "--no-args", "--max-stack=60000", "-b", "64M",
                    *flags, "-d", data, *command],
                   check=False, capture_output=True, timeout=600, cwd=folder, **options)
    dump = subprocess.run([tool, "dump", "--demangle=no", "-d", data], check=True, text=True,
                          capture_output=True, timeout=600).stdout
    assert "lost" not in dump.lower()
    found, stacks = collections.defaultdict(list), collections.defaultdict(list)
    for thread, name, depth in UFTRACE.findall(dump):
        stack = stacks[thread]
        del stack[int(depth):]
        is_own = name in symbols.names
        if is_own:
            found[int(thread)].append((sum(stack), symbols.same_name(name)))
        stack.append(is_own)
    return found
