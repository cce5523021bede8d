# SPDX-License-Identifier: GPL-3.0-or-later
"""A strict reader of our Chrome trace events: the same kind of trace as tests/fxt.py gives."""
import decimal
import json

import fxt

PHASES = "BEiMsf"


def no_duplicates(pairs):
    """A JSON object; the same key twice is an error, which json.loads() would swallow."""
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), f"a key stands twice: {keys}"
    return dict(pairs)


def nanoseconds(timestamp):
    """Microseconds with decimals, without a loss."""
    ns = timestamp * 1000
    assert ns == ns.to_integral_value(), timestamp
    return int(ns)


def parse(data):
    """The trace in a file's bytes, and its other data."""
    document = json.loads(data.decode("utf-8", "strict"), parse_float=decimal.Decimal,
                          object_pairs_hook=no_duplicates)
    assert document["displayTimeUnit"] == "ns"
    trace = fxt.Trace()
    for event in document["traceEvents"]:
        put(trace, event)
    return trace, document["otherData"]


def put(trace, event):
    """One event."""
    phase = event["ph"]
    assert phase in PHASES
    if phase == "M":
        name_it(trace, event)
        return
    thread = trace.thread(event["pid"], event["tid"])
    time = nanoseconds(event["ts"])
    assert time >= thread.last_time
    thread.last_time = time
    parent = thread.open[-1] if thread.open else None
    if phase == "E":
        piece = thread.open.pop()
        piece.end = time
        piece.args.update(event.get("args", {}))
        return
    if phase in "sf":
        assert event["bp"] == "e" and event["name"] and event["cat"]
        ends = trace.flows[event["id"]]
        assert ends.setdefault({"s": "from", "f": "to"}[phase], parent) is parent
        return
    told = (event["name"], event["cat"], time)
    if phase == "i":
        assert event["s"] == "t"
        thread.instants.append(fxt.Instant(*told, len(thread.open), event.get("args", {}), parent))
        return
    piece = fxt.Slice(*told, len(thread.open), event.get("args", {}), parent)
    thread.all_slices.append(piece)
    thread.open.append(piece)


def name_it(trace, event):
    """Metadata."""
    name = event["args"]["name"]
    if event["name"] == "process_name":
        trace.processes.setdefault(event["pid"], fxt.Process(event["pid"])).name = name
    else:
        assert event["name"] == "thread_name"
        trace.thread(event["pid"], event["tid"]).name = name
