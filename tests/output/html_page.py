# SPDX-License-Identifier: GPL-3.0-or-later
"""A strict reader of our pages: core/output/html.c says how they are made."""
import base64
import dataclasses
import html.parser
import json
import struct

INSTANT, COUNTER, SEGMENT = 16, 17, 18
OPEN = 1 << 8


class Scripts(html.parser.HTMLParser):
    """The script elements, as a browser would divide the page: [(attributes, text)]."""

    def __init__(self):
        super().__init__()
        self.scripts, self.tags, self.is_open = [], [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.is_open = tag == "script"
        if self.is_open:
            self.scripts.append([dict(attrs), ""])

    def handle_endtag(self, tag):
        self.is_open = False

    def handle_data(self, data):
        if self.is_open:
            self.scripts[-1][1] += data


@dataclasses.dataclass
class Row:
    """One row."""

    name: str
    category: str
    begin: int
    duration: int
    thread: tuple  # (pid, tid)
    depth: int
    args: dict
    flags: int

    @property
    def kind(self):
        """Of the slice, or INSTANT, …"""
        return self.flags >> 16


def parse(data):
    """The rows, and the page's head."""
    page = Scripts()
    assert data[data.index(b"</script>"):].isascii(), "foreign text is escaped"
    page.feed(data.decode())
    rows, pending = [], None
    head, = [json.loads(text) for attrs, text in page.scripts if attrs.get("id") == "timeline"]
    for attrs, text in page.scripts:
        if attrs.get("class") == "rows":
            pending = columns(base64.b64decode(text, validate=True), int(attrs["data-count"]))
        elif attrs.get("class") == "args":
            args = json.loads(text)
            rows += [row(head, args, *one) for one in pending]
    assert len(rows) == head["rows"] and head["version"] == 1
    return rows, head, page


def columns(data, count):
    """Rows of numbers."""
    types = f"<{count}d", f"<{count}d", *[f"<{count}I"] * 5
    assert len(data) == 36 * count
    at, found = 0, []
    for one in types:
        found.append(struct.unpack_from(one, data, at))
        at += struct.calcsize(one)
    return list(zip(*found))


def row(head, args, begin, duration, track, depth, name, number, flags):
    """With what its numbers mean."""
    base = int(head["base_ns"])
    assert begin == int(begin) and duration == int(duration) >= 0
    return Row(*head["names"][name], base + int(begin), int(duration), tuple(head["tracks"][track][:2]), depth,
               {} if number == 0xffffffff else args[number], flags)
