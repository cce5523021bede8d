# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done inside the virtual machine, each by a line of shell, and what has to come of it,
judged outside by what it left."""
import collections
import re
import subprocess

from branches import decoded_by_perf
from streams import GOOD, by_thread

Case = collections.namedtuple("Case", "name command check")
CASES = []
# What is recorded beforehand, and played inside: a source in programs/, and its argument.
PROGRAMS = {
    "played": ("played.c", "0"),
    "threads": ("played.c", "2"),
    "lives": ("lives.c", "plain"),
    "mapping": ("lives.c", "mapped"),
    "forking": ("lives.c", "forked"),
}
RUN = "mtdb run --engine=pt --history=0 -f text -o timeline.txt --record perf.data"


def case(command):
    def enter(check):
        CASES.append(Case(check.__name__, command, check))
        return check
    return enter


class Result:
    """What a case left: status, output, files; and what the world outside knows."""

    def __init__(self, folder, truth, perf, root, pauses):
        self.folder, self.truth, self.perf, self.root = folder, truth, perf, root
        self.pauses = pauses  # the kernel can pause a trace
        self.status = int((folder / "status").read_text())
        self.output, self.errors = self.read("output"), self.read("errors")

    def read(self, name):
        return (self.folder / name).read_text(errors="replace")

    def branches(self, recording="perf.data"):
        """What perf decodes of a recording, thread by thread."""
        return by_thread(decoded_by_perf(self.perf, self.folder / recording, "--force",
                                         f"--symfs={self.root}"))

    def extent(self, program, function):
        """As the driver writes it: address and size."""
        symbols = subprocess.run(["nm", "-S", f"{self.root}/programs/{program}"], text=True,
                                 check=True, capture_output=True).stdout
        address, size = re.search(rf"^(\w+) (\w+) T {function}$", symbols, re.M).groups()
        return f"{int(address, 16):#x}/{int(size, 16):#x}"

    def check_calls(self, program, times=1):
        """The timeline has as many calls of the program's own functions as were seen."""
        symbols = subprocess.run(["nm", f"{self.root}/programs/{program}"], text=True, check=True,
                                 capture_output=True).stdout
        lines = self.read("timeline.txt").splitlines()
        for name in ("work", "fib", "twice"):
            address = int(re.search(rf"^([0-9a-f]+) T {name}$", symbols, re.M)[1], 16)
            seen = sum(branch[0] == "call" and branch[2] == address
                       for thread in self.truth[program] for branch in thread)
            shown = sum(re.search(rf"s +(\+\d+ )?{name} ", line) is not None for line in lines)
            assert shown == times * seen > 0, f"{name}: {shown} calls shown, {seen} seen"
        threads = {line for line in lines if re.match(rf'Thread \d+ "{program}"', line)}
        assert len(threads) == len(self.truth[program]), threads


@case("mtdb doctor")
def doctor(result):
    assert result.status == 0, result.errors
    assert re.search(r"^pt\s+yes", result.output, re.M), result.output
    pauses = "yes" if result.pauses else "no"
    assert re.search(rf"^aux_pause\s+{pauses}", result.output, re.M), result.output
    assert re.search(r"^watch\s+yes", result.output, re.M), result.output


@case(f"{RUN} -- /programs/played")
def run(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["played"]
    result.check_calls("played")


@case(f"{RUN} -- /programs/threads 2")
def threads(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["threads"]
    result.check_calls("threads")


@case(f"{RUN} --size=16k -- /programs/played 0 5")
def wrapped(result):
    assert result.status == GOOD, result.errors
    [seen], [truth] = result.branches(), result.truth["played"]
    assert len(truth) < len(seen) < 5 * len(truth), len(seen)
    assert seen[1:] == (5 * truth)[-len(seen) + 1:]


@case(f"{RUN} --trigger=reached -- /programs/played 0 3")
def triggers(result):
    assert result.status == GOOD, result.errors
    [seen], [truth] = result.branches(), result.truth["played"]
    assert seen == 3 * truth
    assert result.read("timeline.txt").count("*** trigger 1 in reached") == 3
    assert "the trace is only partial" not in result.read("timeline.txt")
    result.check_calls("played", times=3)


@case(f"{RUN} --size=16k --trigger=reached -- /programs/played 0 9")
def triggers_wrapped(result):
    assert result.status == GOOD, result.errors
    [seen], [truth] = result.branches(), result.truth["played"]
    assert seen == 9 * truth


@case(f"{RUN} --trigger=reached -- /programs/threads 2 2")
def triggers_in_threads(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == [2 * thread for thread in result.truth["threads"]]
    result.check_calls("threads", times=2)


@case(f"{RUN} --watch=watched -- /programs/played 0 3")
def watched(result):
    assert result.status == GOOD, result.errors
    [seen], [truth] = result.branches(), result.truth["played"]
    assert seen == 3 * truth
    text = result.read("timeline.txt")
    assert text.count("*** trigger 1 in reached") == 3
    assert re.findall(r"watched \(value = (\d), was (\d)\)", text) == [("1", "0"), ("2", "1"),
                                                                     ("3", "2")]


@case(f"{RUN} --watch=reached:x --watch=watched:rw -- /programs/threads 2 2")
def watched_in_threads(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == [2 * thread for thread in result.truth["threads"]]
    result.check_calls("threads", times=2)
    hits = re.findall(r"trigger (\d): (\S+) .*thread (\d+) in reached", result.read("timeline.txt"))
    assert len(hits) == 12 and len(set(hits)) == 6, hits  # 3 threads, twice each


@case(f"{RUN} --trigger=passed -- /programs/lives late")
def stopped_late(result):
    """The thread plays, comes to the trigger, plays again before it can be stopped, and once more
    behind that: a trace that is paused ends at the trigger."""
    assert result.status == GOOD, result.errors
    [seen], [truth] = result.branches(), result.truth["lives"]
    assert seen == (2 if result.pauses else 3) * truth
    text = result.read("timeline.txt")
    assert text.count("*** trigger 1 in passed") == 1
    assert ("the trace is only partial" in text) == result.pauses


@case(f"{RUN} --watch=passed:x -- /programs/lives late")
def watched_late(result):
    assert result.status == GOOD, result.errors
    [seen], [truth] = result.branches(), result.truth["lives"]
    assert seen == (2 if result.pauses else 3) * truth
    assert ("the trace is only partial" in result.read("timeline.txt")) == result.pauses


@case(f"chmod 777 .; su nobody -c '{RUN} --trigger=passed -- /programs/lives late'")
def nobody_is_stopped_late(result):
    """What resumes a trace is the kernel's, and wants permission."""
    assert result.status == GOOD, result.errors
    [seen], [truth] = result.branches(), result.truth["lives"]
    assert seen == 3 * truth


@case(f"{RUN} --events=sched,faults,syscalls,marks --counter=page-faults -- /programs/threads 2")
def events(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["threads"]
    result.check_calls("threads")
    text = result.read("timeline.txt")
    assert re.search(r"s +CPU [01]$", text, re.M)
    assert re.search(r"s +brk\(", text)
    check_one_axis(result)


def check_one_axis(result):
    """The trace that the first thread plays has its time inside of the write(2) that plays it, and
    the kernel told when that began and ended."""
    size = result.root.joinpath("programs/threads.pt.0").stat().st_size
    done = subprocess.run([result.perf, "script", "--force", f"--symfs={result.root}", "-i",
                           result.folder / "perf.data", "--itrace=be", "-F", "tid,time,event,ip,addr"],
                          text=True, capture_output=True, check=True)
    found = re.findall(r"^ *(\d+) +([\d.]+): +(\S+): +([0-9a-f]+)", done.stdout, re.M)
    main = min(int(tid) for tid, *_ in found)
    mine = [(event, float(time), int(value, 16)) for tid, time, event, value in found
            if int(tid) == main]
    calls = [it for it in mine if it[0] in ("mtrace:syscall", "mtrace:sysret")]
    written = max(at for at, call in enumerate(calls) if call[2] == size)  # it was read before
    times = [time for event, time, _ in mine if event == "branches:u"]
    assert calls[written - 1][1] - 1e-6 <= min(times)
    assert max(times) <= calls[written][1] + 1e-6


@case(f"{RUN} --per-cpu -- /programs/threads 2 3")
def per_cpu(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == [3 * thread for thread in result.truth["threads"]]
    result.check_calls("threads", times=3)


@case(f"{RUN} --per-cpu --trigger=reached -- /programs/threads 2 2")
def per_cpu_triggers(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == [2 * thread for thread in result.truth["threads"]]


@case(f"{RUN} --full-execution -- /programs/played 0 30")
def full_execution(result):
    assert result.status == GOOD, result.errors
    [seen], [truth] = result.branches(), result.truth["played"]
    assert seen == 30 * truth


@case(f"{RUN} --full-execution --per-cpu -- /programs/threads 2 5")
def full_execution_per_cpu(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == [5 * thread for thread in result.truth["threads"]]


@case(f"{RUN} --full-execution --size=16k -- /programs/played 0 30")
def full_execution_overrun(result):
    assert result.status == GOOD, result.errors
    assert "nothing was recorded" in result.errors
    assert "[lost: " in result.read("timeline.txt")


def option(name, words, check):
    """A run with these options, of which the driver says in a line what it was asked for."""
    def look(result):
        assert result.status == GOOD, result.errors
        config, said = re.match("config (0x[0-9a-f]+)(.*)", result.output).groups()
        assert check(int(config, 16), said, result), result.output
    look.__name__ = name
    case(f"{RUN} {words} -- /programs/lives described")(look)


CYC, POWER, NO_RETCOMP, PTWRITE = 1 << 1, 1 << 4, 1 << 11, 1 << 12
ALWAYS = 1 << 0 | 1 << 9 | 1 << 10 | 1 << 13  # pt, mtc, tsc, branch
option("resolution_low", "--resolution=low",
       lambda config, said, _: config & ALWAYS == ALWAYS and not config & CYC)
option("resolution_normal", "",
       lambda config, said, _: config & ALWAYS == ALWAYS and config & CYC and said == " user")
option("resolution_high", "--resolution=high",
       lambda config, said, _: config & ALWAYS == ALWAYS and config & CYC)
option("with_kernel", "--kernel", lambda config, said, _: said == " kernel user")
option("no_return_compression", "--no-return-compression",
       lambda config, said, _: config & NO_RETCOMP)
option("ptwrite", "--ptwrite", lambda config, said, _: config & PTWRITE)
option("power_events", "--power-events", lambda config, said, _: config & POWER)
option("filter_function", "--filter=twice",
       lambda config, said, result: said == f" user filter {result.extent('lives', 'twice')}")
option("filter_words", "'--filter=filter main @ /programs/lives'",
       lambda config, said, result: said == f" user filter {result.extent('lives', 'main')}")


@case(f"{RUN} -- /programs/mapping mapped")
def mapped(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["mapping"]


@case(f"{RUN} -- /programs/mapping switched")
def switched(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["mapping"]


@case(f"{RUN} -- /programs/mapping execed")
def execed(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["mapping"]


@case(f"{RUN} --follow-forks -- /programs/forking forked")
def forked(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["forking"]


@case(f"{RUN} -- /programs/forking forked")
def forked_away(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["forking"][:1]


@case(f"{RUN} -- /programs/lives crashed")
def crashed(result):
    assert result.status == 128 + 11, result.errors
    assert result.branches() == result.truth["lives"]


@case(f"{RUN} -- /programs/lives flagged")
def flagged(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == [2 * result.truth["lives"][0]]
    assert "the trace is only partial" in result.read("timeline.txt")


@case(f"{RUN} --size=256k -- /programs/lives churned")
def churned(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["lives"]


PERF = "perf record -q -o perf.data -e intel_pt/cyc/u"
DECODE = "s=$?; mtdb decode -f text -o timeline.txt perf.data; exit $s"


@case(f"{PERF} -- /programs/played; {DECODE}")
def perf_record(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["played"]
    result.check_calls("played")


@case(f"{PERF} --per-thread -- /programs/played")
def perf_record_per_thread(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["played"]


@case(f"{PERF} -- /programs/threads 2; {DECODE}")
def perf_record_threads(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["threads"]
    result.check_calls("threads")


@case(f"{PERF} -a -- /programs/threads 2; {DECODE}")
def perf_record_cpus(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["threads"]
    result.check_calls("threads")


@case(f"{PERF} -Se -- /programs/played 0 2")
def perf_record_snapshot(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == [2 * result.truth["played"][0]]


@case(f"{RUN} -- /bin/busybox true")
def nothing_played(result):
    assert result.status == 125
    assert "contains no trace data" in result.errors


@case("echo 3 >/proc/sys/kernel/perf_event_paranoid; chmod 777 .;"
      f"su nobody -c '{RUN} -- /programs/played'; s=$?;"
      "echo 2 >/proc/sys/kernel/perf_event_paranoid; exit $s")
def forbidden(result):
    assert result.status == 125, result.errors
    assert "perf_event_paranoid" in result.errors


@case(f"chmod 777 .; su nobody -c 'ulimit -l 64; {RUN} --size=8M -- /programs/played'")
def nobody(result):
    assert result.status == GOOD, result.errors
    assert "is reduced to" in result.errors
    assert result.branches() == result.truth["played"]


@case(f"chmod 777 .; su nobody -c '{RUN} --watch=watched --events=sched,faults "
      "--counter=page-faults -- /programs/played'")
def nobody_watches(result):
    assert result.status == GOOD, result.errors
    assert result.branches() == result.truth["played"]
    text = result.read("timeline.txt")
    assert "trigger 1: watched (value = 1, was 0)" in text


@case("mkfifo in; perf record -q -o /dev/null -a -e intel_pt//u -- sh -c 'echo >ready; cat in' &"
      f"exec 5<>in; until [ -s ready ]; do sleep 0.1; done; {RUN} -- /programs/played; s=$?;"
      "mtdb run --engine=auto --history=0 -o auto.fxt -- /bin/busybox true;"
      "echo >&5; exec 5>&-; wait; exit $s")
def busy(result):
    assert result.status == 125, result.errors
    assert "this PMU is in use" in result.errors
    assert "recording with the engine calls" in result.errors


WAIT = "mkfifo in; {} wait <in & p=$!; exec 5>in;"
ATTACH = "mtdb attach --engine=pt -f text -o timeline.txt --record perf.data {} $p & m=$!;"
READY = "until grep -q recording errors; do sleep 0.1; done; echo >&5;"


@case(WAIT.format("/programs/played 0 1") + ATTACH.format("") + READY +
      "wait $p; s=$?; wait $m; echo $?; exit $s")
def attach(result):
    assert (result.status, result.output) == (GOOD, "0\n"), result.errors
    assert result.branches() == result.truth["played"]


@case(WAIT.format("/programs/threads 2 2") + ATTACH.format("--trigger=reached --max=6") + READY +
      "wait $p; s=$?; wait $m; echo $?; exit $s")
def attach_to_threads(result):
    assert (result.status, result.output) == (GOOD, "0\n"), result.errors
    assert result.branches() == [2 * thread for thread in result.truth["threads"]]


@case(WAIT.format("/programs/threads 2 20") + ATTACH.format("--trigger=reached") + READY +
      "wait $p; s=$?; wait $m; echo $?; exit $s")
def attach_for_one_snapshot(result):
    assert (result.status, result.output) == (GOOD, "0\n"), result.errors


@case(WAIT.format("/programs/played 0 1") + ATTACH.format("") + READY.replace("echo >&5;", "") +
      "kill -INT $m; wait $m; echo >&5; wait $p")
def attach_and_detach(result):
    assert result.status == GOOD, result.errors
    assert "contains no trace data" in result.errors  # nothing was played meanwhile
