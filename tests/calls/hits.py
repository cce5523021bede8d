# SPDX-License-Identifier: GPL-3.0-or-later
"""Hits of triggers in timelines (JSON)."""
import json


def hits_in(path):
    """The instants on the threads' tracks."""
    return [event for event in instants_in(path) if event["name"] == "trigger"]


def values_in(path):
    """Of those on the track of triggers: number and values."""
    return [(event["args"]["number"], event["args"].get("values", "")) for event in instants_in(path)
            if "location" in event.get("args", {})]


def instants_in(path):
    return [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "i"]
