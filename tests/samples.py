# SPDX-License-Identifier: GPL-3.0-or-later
"""What mtdb decode makes of samples of stacks."""
import collections
import decimal
import json


def events_of(run_mtdb, path, tmp_path):
    out = tmp_path / "timeline.json"
    done = run_mtdb("decode", "-o", out, path)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text(), parse_float=decimal.Decimal)["traceEvents"], done.stderr


def time_of(event):
    return int(event["ts"] * 1000)


def stacks_at(events, samples):
    """{(thread, time): the slices that are open then, outermost first}: begins at it included."""
    threads = collections.defaultdict(list)
    for thread, time in samples:
        threads[thread].append((time, 1, None))
    for event in events:
        if event["ph"] in "BE":
            threads[event["tid"]].append((time_of(event), 0, event))
    found = {}
    for thread, what in threads.items():
        open_slices = []
        for time, _, event in sorted(what, key=lambda one: one[:2]):
            if event is None:
                found[(thread, time)] = list(open_slices)
            elif event["ph"] == "B":
                open_slices.append(event)
            else:
                open_slices.pop()
        assert not open_slices
    return found
