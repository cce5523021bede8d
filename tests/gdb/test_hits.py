# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers' hits have a track of their own, which says where, on what condition, in which thread,
and what was printed."""
import json
import subprocess

import pytest

SCRIPT = """
set mtrace output {out}/trace-%n.json
mtrace start
mtrace trigger -print count -print name -print nothing price_of if count > 0
run
mtrace snapshot {out}/all.json
"""


@pytest.fixture(name="events")
def events_fixture(compile, need, build, tmp_path):
    plugin = build / "mtrace.py"
    if not plugin.exists():
        pytest.skip("the plugin is not built: the headers of GDB's Python are missing "
                    "(package libpython3-dev)")
    program = compile("crash.c", "-O0")
    script = tmp_path / "script.gdb"
    script.write_text(f"source {plugin}\n" + SCRIPT.format(out=tmp_path))
    subprocess.run([need("gdb"), "-nx", "-q", "-batch", "-x", script, program], check=True,
                   capture_output=True, timeout=120)
    return json.loads((tmp_path / "all.json").read_text())["traceEvents"]


def test_a_hit_is_told_twice(events):
    """On the thread's track among its calls, and with all that is known on the track of hits."""
    names = {event["tid"]: event["args"]["name"] for event in events
             if event.get("name") == "thread_name"}
    among = [event for event in events if event.get("name") == "trigger"]
    own = [event for event in events if names[event["tid"]] == "triggers" and event["ph"] == "i"]
    assert len(own) > 3 and len(among) == len(own)
    thread = among[0]["tid"]
    for event in own:
        args = event["args"]
        assert event["name"] == args["location"] == "price_of" and args["number"] == 1
        assert args["condition"] == "count > 0" and args["thread"] == thread
        assert args["values"].startswith("count = ") and 'name = 0x' in args["values"]
        assert 'No symbol "nothing"' in args["values"]
        assert args["function"] == "price_of" and args["line"] > 0
    assert '"butter"' in own[-1]["args"]["values"]
