# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands -mtrace-…, compared with what `mtrace …` prints in the same session."""
import re

import pytest

from gdb_mi import printed, record


@pytest.fixture(name="loaded")
def loaded_fixture(machine, plugin, need):
    """loaded(program) -> Machine with the plugin, in a GDB that has gdb.MICommand."""
    need("gdb")

    def make(program):
        one = machine(program, traced=False)
        if printed(one.console("python print(hasattr(gdb, 'MICommand'))")) != "True\n":
            pytest.skip("this GDB has no gdb.MICommand (GDB 13 and newer have)")
        one.console(f"source {plugin}")
        return one

    return make


def answer(lines):
    """The fields of ^done, the last record."""
    kind, fields = record(lines[-1])
    assert kind == "^done", lines
    return fields


def failure(lines):
    """The message of ^error, the last record."""
    kind, fields = record(lines[-1])
    assert kind == "^error" and set(fields) == {"msg"}, lines
    return fields["msg"]


def test_a_session(loaded, compile, tmp_path):
    gdb = loaded(compile("deep.c", "-O1"))
    assert answer(gdb.say("-mtrace-info")) == {"state": "off", "threads": [], "snapshots": [],
                                               "triggers": []}
    assert answer(gdb.say("-mtrace-start -size 64k")) == {"state": "armed"}
    made = answer(gdb.say("-mtrace-trigger -max 3 b if how == 'f' || 1"))["trigger"]
    assert {name: made[name] for name in ("number", "location", "condition", "hits", "done")} == {
        "number": "1", "location": "b", "condition": "how == 'f' || 1", "hits": "0", "done": "0"}
    gdb.say("-exec-arguments fault")
    told = gdb.say("-exec-run")
    assert any(line.startswith("*stopped,") and '"SIGSEGV"' in line for line in told)
    info = answer(gdb.say("-mtrace-info"))
    text = printed(gdb.console("mtrace info"))
    assert (info["state"], info["engine"]) == ("recording", "calls")
    assert f"process {info['pid']} " in text
    thread, = info["threads"]
    assert (thread["id"], thread["tid"], thread["ring-bytes"]) == ("1", info["pid"], str(64 << 10))
    assert int(thread["used-bytes"]) * 100 // (64 << 10) == int(re.search(r"(\d+)% of 64k", text)[1])
    assert info["snapshots"] == [{"number": str(number), "file": str(tmp_path / f"trace-{number}.fxt")}
                                 for number in (1, 2)]
    assert [one["hits"] for one in info["triggers"]] == ["1"]
    assert info["triggers"][0]["what"] in text
    taken = answer(gdb.say('-mtrace-snapshot "my trace.json"'))["snapshot"]
    assert taken == {"number": "3", "file": str(tmp_path / "my trace.json")}
    assert (tmp_path / "my trace.json").exists()
    assert not answer(gdb.say("-mtrace-delete 1"))
    assert not answer(gdb.say("-mtrace-stop"))
    info = answer(gdb.say("-mtrace-info"))
    assert info["state"] == "off" and not info["triggers"] and len(info["snapshots"]) == 3


def test_errors_are_one_message(loaded, compile):
    gdb = loaded(compile("deep.c", "-O1"))
    for command in ("start -size x", "start now", "stop", "trigger", "trigger *nosuch", "delete 7",
                    "snapshot", "snapshot a b", "trigger -every 0 b"):
        lines = gdb.say(f"-mtrace-{command}")
        said = gdb.console(f"mtrace {command}")
        assert record(lines[-1]) == record(said[-1]) and failure(lines), command
        assert not any(line.startswith(("&", "~")) for line in lines), lines
    assert "requires a location" in failure(gdb.say('-mtrace-trigger ""'))
    assert failure(gdb.say("-mtrace-info x")) == "-mtrace-info takes no arguments"


def test_words_keep_their_quotes(loaded, compile):
    gdb = loaded(compile("deep.c", "-O1"))
    gdb.say("-mtrace-start")
    for words, printed_value in (('-print "how + 1" -max 1 b', "how + 1"),
                                 ("-print how -max 1 b", "how"),
                                 ('-print "$_streq(\\"a b\\", \\"b\\") + how" -max 1 b',
                                  '$_streq("a b", "b") + how')):
        assert answer(gdb.say(f"-mtrace-trigger {words}"))["trigger"]["location"] == "b"
        gdb.say("-exec-arguments fault")
        assert f"\n  {printed_value} = 10" in printed(gdb.say("-exec-run"))
        gdb.say("-exec-continue")


def test_records_of_snapshots(loaded, compile, tmp_path):
    """GDB 14 has gdb.notify_mi; in an older one it is played."""
    gdb = loaded(compile("deep.c", "-O1"))
    gdb.console("python gdb.notify_mi = lambda name, fields: gdb.write(f'={name} {fields}\\\\n')")
    gdb.say("-mtrace-start")
    gdb.say("-exec-arguments fault")
    lines = gdb.say("-exec-run")
    fields = {"number": 1, "file": str(tmp_path / "trace-1.fxt")}
    if any(line.startswith("=mtrace-snapshot") for line in lines):
        assert f'=mtrace-snapshot,number="1",file="{fields["file"]}"' in lines
    else:
        assert f"=mtrace-snapshot {fields}\n" in printed(lines)


SHOWN = re.compile(r" *~?-?[\d.]+ \S+ +(?P<length>open|~?[\d.]+ \S+)  (?P<indent> *)(?P<name>[^\s(]+)(?:\(.*\))?(?: \(.*?\))?"
                   r"(?: +(?P<file>[\w.-]+)(?::(?P<line>\d+))?)?$")


def told(lines):
    """Of each call in MI: its level, its name, whether it is open, where it was called."""
    return [(int(one["level"]), one["name"], "open" in one, one.get("call-line"))
            for one in lines if one["kind"] in ("call", "inlined")]


def shown(text):
    """The same of what `mtrace history` prints."""
    found = [SHOWN.match(line) for line in text.splitlines()]
    return [(len(one["indent"]) // 2, one["name"], one["length"] == "open", one["line"])
            for one in found if one]


@pytest.mark.parametrize("words", ["", "3", "2 b", "-unfold 1000", "-thread 1 5"])
def test_history(loaded, compile, words):
    program = compile("deep.c", "-O0")
    gdb = loaded(program)
    gdb.say("-mtrace-start -timestamps full")
    gdb.say("-exec-arguments fault")
    gdb.say("-exec-run")
    thread, = answer(gdb.say(f"-mtrace-history {words}"))["threads"]
    text = printed(gdb.console(f"mtrace history {words}"))
    assert f'Thread {thread["tid"]} "{thread["name"]}" of process {thread["pid"]} ' in text
    lines = thread["lines"]
    assert told(lines) == shown(text) and ("b", True) in [one[1:3] for one in told(lines)], text
    begun, = [one for one in lines if one["kind"] == "segment"]
    for one in lines:
        if one["kind"] == "call":
            assert ("open" in one) != ("duration-ns" in one), one
            length = int(one.get("duration-ns", 0))
            assert -int(begun["length-ns"]) <= int(one["time-ns"]) <= -length, one
    if "b" not in words.split():
        signal = lines[-1]
        assert (signal["kind"], signal["name"], signal["address"], signal["function"]) == (
            "event", "SIGSEGV", "0x0", "c")
        b = [one for one in lines if one.get("name") == "b"][-1]
        assert b["call-file"].endswith("deep.c") and b["module"] == str(program)


def test_history_of_another_thread(loaded, compile):
    """By MI's own option as by that of the command."""
    gdb = loaded(compile("debugged_threads.c", "-O1", "-pthread"))
    gdb.say("-mtrace-start")
    gdb.say("-break-insert -t leap")
    gdb.say("-exec-run")
    threads = answer(gdb.say("-thread-info"))["threads"]
    assert len(threads) > 1
    recorded = 0
    for one in threads:
        found = []
        for words in (f"--thread {one['id']} 3", f"-thread {one['id']} 3"):
            lines = gdb.say(f"-mtrace-history {words}")
            kind, fields = record(lines[-1])
            found.append(fields)
            if kind == "^done":
                recorded += 1
                assert f"LWP {fields['threads'][0]['tid']})" in one["target-id"]
        assert found[0] == found[1]
    assert recorded > 2
    info = answer(gdb.say("-mtrace-info"))["threads"]  # in the order of their births
    assert {one["id"] for one in info} == {one["id"] for one in threads}


def test_history_that_there_is_not(loaded, compile):
    gdb = loaded(compile("deep.c", "-O0"))
    assert "nothing was recorded yet" in failure(gdb.say("-mtrace-history"))
    gdb.say("-mtrace-start")
    gdb.say("-exec-arguments fault")
    gdb.say("-exec-run")
    for words in ("3 nosuch", "-thread 7", "1 b c", "-x", "-thread"):
        assert failure(gdb.say(f"-mtrace-history {words}")) == failure(
            gdb.console(f"mtrace history {words}"))


def test_values_and_folded_calls(loaded, compile):
    gdb = loaded(compile("crash.c", "-O0"))
    gdb.say("-mtrace-start")
    gdb.say('-interpreter-exec console "mtrace values price_of"')
    gdb.say("-exec-run")
    lines = answer(gdb.say("-mtrace-history 5 price_of"))["threads"][0]["lines"]
    assert 'name="butter", count=2' in [one.get("arguments") for one in lines]
    gdb.say("-mtrace-stop")
    gdb = loaded(compile("deep.c", "-O0"))
    gdb.say("-mtrace-start")
    gdb.say("-exec-arguments abort")
    gdb.say("-exec-run")
    gdb.say("-exec-continue")
    folded, = [one for one in answer(gdb.say("-mtrace-history"))["threads"][0]["lines"]
               if one["kind"] == "folded"]
    assert f"({folded['count']} calls in {folded['function']} " in printed(gdb.console("mtrace history"))
