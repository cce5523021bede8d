# SPDX-License-Identifier: GPL-3.0-or-later
"""Timelines in HTML: the same slices as in JSON, nothing of a name that breaks out, and a viewer that works."""
import re

import pytest
from hypothesis import given

from output import chrome, html_page
from output.script import Script
from output.test_formats import make_folder, ours, scripts  # noqa: F401 (a fixture)

HOSTILE = [b"</script><script>alert(1)</script>", b"<!--<script>", b"\"'\\", b"a\xc2\x9b31m\x1b]0;x\x07",
           "\u202eevil\u2066\u2028".encode(), b"\x80\xff<", "\U0001f600\u00fc".encode(), b"]]>&lt;\n\x7f"]


@pytest.fixture(name="recorded", scope="module")
def recorded_fixture(compile, run_mtdb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("html")
    program = compile("stats.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    done = run_mtdb("run", "-e", "calls", "--timestamps=full", "--args=work", "-r",
                    folder / "x.perf", "-o", folder / "x.html", "--", program)
    assert done.returncode == 0 and "ui.perfetto.dev" not in done.stderr, done.stderr
    assert run_mtdb("decode", "-o", folder / "x.json", folder / "x.perf").returncode == 0
    return folder / "x.perf"


def compare(page, trace):
    """Slice by slice, and instant by instant."""
    threads = {}
    for row in page:
        threads.setdefault(row.thread, []).append(row)
    for key, thread in trace.threads.items():
        rows = threads.get(key, [])
        told = [(row.name, row.category, row.begin, row.begin + row.duration, row.depth, row.args)
                for row in rows if row.kind < html_page.INSTANT]
        ends = [row.begin + row.duration for row in rows if row.flags & html_page.OPEN]
        pieces = [(piece.name, piece.category, piece.begin, piece.end, piece.depth, piece.args)
                  for piece in thread.all_slices]
        assert len(told) == len(pieces)
        rest = sorted(told, key=repr)
        for piece in pieces:
            match = next((one for one in rest if one[:3] == piece[:3] and one[4:] == piece[4:]
                          and (piece[3] == one[3] or (piece[3] is None and one[3] in ends))), None)
            assert match, piece
            rest.remove(match)
        instants = [(row.name, row.category, row.begin, row.args) for row in rows if row.kind == html_page.INSTANT]
        assert instants == [(one.name, one.category, one.time, one.args) for one in thread.instants]


def test_the_same_as_in_json(recorded):
    rows, head, _ = html_page.parse(recorded.with_suffix(".html").read_bytes())
    trace, other = chrome.parse(recorded.with_suffix(".json").read_bytes())
    compare(rows, trace)
    assert head["command"] == other["command"]
    work = [row for row in rows if row.name == "work"]
    assert len(work) == 15 and all("arguments" in row.args for row in work)
    assert {(pid, tid): name for pid, tid, name, _ in head["tracks"]} \
        == {key: thread.name or "" for key, thread in trace.threads.items()}


def test_decoding_gives_the_same_page(run_mtdb, recorded):
    done = run_mtdb("decode", "-f", "html", "-o", "-", recorded)
    assert done.stdout == recorded.with_suffix(".html").read_text()


@pytest.mark.sanitize
@ours
@given(script=scripts())
def test_any_slices(script, writer, folder):
    with open(writer.write(script, f"{folder}/a.html"), "rb") as file:
        rows, _, _ = html_page.parse(file.read())
    with open(writer.write(script, f"{folder}/a.json"), "rb") as file:
        compare(rows, chrome.parse(file.read())[0])


def hostile_script():
    """Names of all kinds, on a thread whose name is no better."""
    script = Script()
    script.thread(1, 2, HOSTILE[0], HOSTILE[4])
    script.segment(0, 1000)
    for number, name in enumerate(HOSTILE):
        script.call(100 * number, name, 100 * number + 50, module=name, source=(name, 7))
    script.segment_end()
    return script


@pytest.mark.sanitize
def test_hostile_names_stay_text(writer, tmp_path):
    plain = Script()
    plain.thread(1, 2)
    plain.segment(0, 1000)
    plain.call(0, "f", 1)
    plain.segment_end()
    path = writer.write(hostile_script(), tmp_path / "a.html", command=HOSTILE[0].decode())
    rows, head, page = html_page.parse(path.read_bytes())
    assert page.tags == html_page.parse(writer.write(plain, tmp_path / "b.html").read_bytes())[2].tags
    calls = [row.name for row in rows if row.kind < html_page.INSTANT]
    assert calls == [name.decode("utf-8", "each byte") for name in HOSTILE]
    assert head["command"] == HOSTILE[0].decode()


def test_chunks(writer, tmp_path):
    """More rows than a chunk has, each with arguments of its own."""
    script = Script()
    script.thread(1, 2, "t", "p")
    script.segment(10**18, 2 * 10**18)
    for number in range(20000):
        script.call(10**18 + 10 * number, f"f{number % 7}", 10**18 + 10 * number + 5, address=number + 1)
    script.segment_end()
    rows, _, page = html_page.parse(writer.write(script, tmp_path / "a.html").read_bytes())
    assert sum(attrs.get("class") == "rows" for attrs, _ in page.scripts) == 3
    for number, row in enumerate(rows[:20000]):
        assert (row.name, row.begin) == (f"f{number % 7}", 10**18 + 10 * number)
        assert row.args["address"] == hex(number + 1)


def test_in_a_browser(recorded, browser):
    """It opens from a file, asks for nothing else, finds a function, and tells of the call that is clicked."""
    url = recorded.with_suffix(".html").as_uri()
    browser.open(url)
    assert browser.run("document.getElementById('message').textContent") == ""
    browser.press("/")
    browser.call("Input.insertText", text="work")
    assert browser.run("document.getElementById('found').textContent") == "15 found"
    browser.press("Enter", "\r")
    assert browser.run("document.getElementById('found').textContent") == "1 of 15"
    browser.press("Enter", "\r")
    assert browser.run("document.getElementById('found').textContent") == "2 of 15"
    browser.press("Escape")
    assert browser.run("document.getElementById('details').hidden")
    leaf = "[...mtrace.data.slices.name].findIndex((name) => mtrace.data.names[name] === 'work')"
    browser.run(f"reveal({leaf}, true)")
    box = browser.run(f"boxOf({leaf})")
    browser.click(box["x"] + box["width"] / 2, box["y"] + 8)
    details = browser.run("document.getElementById('details').innerText")
    for told in ("work", "duration", "self time", "begin", "returned", "stats.c:", "arguments"):
        assert told in details, details
    foreign = [request for request in browser.requests if request != url and not request.startswith("data:")]
    assert not foreign and not browser.errors


def test_hostile_names_in_a_browser(writer, tmp_path, browser):
    path = writer.write(hostile_script(), tmp_path / "a.html", command=HOSTILE[0].decode())
    browser.open(path.as_uri())
    assert browser.run("document.getElementById('command').textContent") == HOSTILE[0].decode()
    for number in range(len(HOSTILE)):
        browser.run(f"select([...mtrace.data.slices.begin].indexOf({100 * number}, 1))")
        text = browser.run("document.getElementById('details').textContent")
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028]", text), text
    assert browser.run("document.querySelectorAll('#details script').length") == 0
    assert "\\u202eevil" in browser.run("mtrace.data.names.join()")
    assert not browser.errors


def test_a_cut_page_says_so(recorded, tmp_path, browser):
    data = recorded.with_suffix(".html").read_bytes()
    path = tmp_path / "cut.html"
    path.write_bytes(data[:-200])
    browser.open(path.as_uri())
    assert "cannot be shown" in browser.run("document.getElementById('message').textContent")
