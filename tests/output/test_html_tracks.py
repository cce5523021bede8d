# SPDX-License-Identifier: GPL-3.0-or-later
"""What a page shows beside the calls: losses, counters, and what the kernel told of a thread."""
import pytest

from output.script import (AUX_LOST, COUNTERS, END_LOST, EVENTS_LOST, FAULTS, FIRST_TRACK, GAP, GAP_INSTANT, SCHED,
                           Script)

MS = 1_000_000
RING_FULL, DROPPED = "[lost: the trace ring was full]", "[lost: the kernel dropped events]"
WIDTH = 1200
# The share of red points in a rectangle of the canvas.
RED = """(([x, y, width, height]) => {
    draw();
    const ratio = devicePixelRatio, points = pen.getImageData(x * ratio, y * ratio, width * ratio, height * ratio).data;
    let red = 0;
    for (let i = 0; i < points.length; i += 4)
        red += points[i] > points[i + 1] + 60 && points[i] > points[i + 2] + 60 ? 1 : 0;
    return red / (points.length / 4);
})"""


def lossy_script():
    """Thread 2 lost calls within main; 3 lost them and goes on in a new segment; the kernel dropped events of 3's
    scheduling."""
    script = Script()
    script.thread(1, 2, "within", "p")
    script.segment(0, 100 * MS)
    script.begin(0, "main")
    script.begin(10 * MS, "f")
    script.instant(40 * MS, GAP_INSTANT, AUX_LOST, 77, told=RING_FULL)
    script.end(40 * MS, END_LOST)
    script.call(40 * MS, None, 60 * MS, kind=GAP, cause=AUX_LOST, lost=77, told=RING_FULL)
    script.call(70 * MS, "g", 90 * MS)
    script.segment_end()
    script.thread(1, 3, "anew", "p")
    script.segment(0, 20 * MS)
    script.call(0, "f", 10 * MS)
    script.instant(20 * MS, GAP_INSTANT, AUX_LOST, 5, told=RING_FULL)
    script.segment_end()
    script.segment(50 * MS, 100 * MS)
    script.call(55 * MS, "g", 90 * MS)
    script.segment_end()
    script.thread(1, SCHED | 3, "scheduling of anew (3)", "p")
    script.segment(0, 100 * MS)
    script.side(0, "CPU 1", "sched", 30 * MS)
    script.instant(30 * MS, GAP_INSTANT, EVENTS_LOST, told=DROPPED)
    script.side(50 * MS, "sleeping", "sched", 100 * MS, reason="waiting for an event or a signal (S)")
    script.segment_end()
    return script


class Page:
    """What an open page says."""

    def __init__(self, browser, path):
        self.browser = browser
        browser.open(path.as_uri())
        assert self.text("message") == "" and not browser.errors, browser.errors

    def run(self, words):
        """The value of an expression of JavaScript."""
        return self.browser.run(words)

    def text(self, name):
        """Of an element that is shown, else ''."""
        return self.run(f"(({{hidden, textContent}}) => hidden ? '' : textContent)(document.getElementById('{name}'))")

    def pixel(self, ms):
        """Where a time lies on the canvas."""
        return self.run(f"xOf({ms * MS})")

    def lanes(self, tid):
        """The group of a thread: [top, bottom] of its lanes, in the canvas."""
        return self.run(f"(placeGroups(), (({{top, bottom}}) => [AXIS + top + TITLE, AXIS + bottom - GAP - 2])"
                        f"(data.groups.find((group) => data.tracks[group.track].tid === {tid})))")

    def red(self, tid, begin, end):
        """The share of red points over all lanes of a thread, from a time to another."""
        x, width = self.pixel(begin), self.pixel(end) - self.pixel(begin)
        top, bottom = self.lanes(tid)
        return self.run(f"{RED}([{x + 2}, {top}, {width - 4}, {bottom - top}])")

    def hover(self, ms, y):
        """What is told under the pointer; Y: in the canvas."""
        box = self.run("(({left, top}) => [left, top])(canvas.getBoundingClientRect())")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + self.pixel(ms), y=box[1] + y)
        return self.text("tip")

    def click(self, ms, y):
        """What is told of what is there."""
        box = self.run("(({left, top}) => [left, top])(canvas.getBoundingClientRect())")
        self.browser.click(box[0] + self.pixel(ms), box[1] + y)
        return self.text("details")


@pytest.fixture(name="lossy")
def lossy_fixture(writer, tmp_path, browser):
    return Page(browser, writer.write(lossy_script(), tmp_path / "a.html"))


def test_losses_are_hatched_over_their_thread(lossy):
    assert lossy.text("losses") == "3 losses of data"
    assert lossy.red(2, 40, 60) > 0.15 and lossy.red(2, 12, 38) == lossy.red(2, 72, 100) == 0
    assert lossy.red(3, 20, 50) > 0.15 and lossy.red(3, 2, 18) == lossy.red(3, 56, 100) == 0
    assert lossy.red(SCHED | 3, 2, 28) == lossy.red(SCHED | 3, 32, 48) == 0 < lossy.red(SCHED | 3, 28, 32)
    # A thread that is folded tells of it in its title.
    for folded in ("true", "false"):
        lossy.run(f"data.groups[0].isFolded = {folded}")
        title = lossy.lanes(2)[0] - 10
        assert lossy.run(f"{RED}([{lossy.pixel(45)}, {title}, 50, 10])") > 0.2
        assert lossy.run(f"{RED}([{lossy.pixel(75)}, {title}, 50, 10])") == 0


def test_a_loss_tells_its_cause(lossy):
    """Where nothing else is, too."""
    top, bottom = lossy.lanes(3)
    assert lossy.hover(35, bottom - 4) == f"{RING_FULL}  for 30.000 ms"
    told = lossy.click(35, bottom - 4)
    assert RING_FULL in told and "causethe trace ring was full" in told and "bytes lost5" in told
    assert "duration30.000 ms" in told and "returned" not in told
    assert lossy.hover(5, top + 20).startswith("f")
    assert RING_FULL in lossy.hover(50, lossy.lanes(2)[1] - 4)
    assert DROPPED in lossy.hover(30, sum(lossy.lanes(SCHED | 3)) / 2)


def test_one_loss_after_the_other(lossy):
    selected = "[view.selected < 0 ? -1 : data.slices.begin[view.selected], laneOf(data, view.selected)?.group.title]"
    lossy.run("document.getElementById('losses').click()")
    assert lossy.run(selected) == [20 * MS, "anew  (thread 3, p 1)"]
    times = []
    for key in "lllL":
        lossy.browser.press(key, key)
        times.append(lossy.run(selected)[0] // MS)
    assert times == [30, 40, 20, 40]


def test_no_loss_no_word(writer, tmp_path, browser):
    script = Script()
    script.thread(1, 2)
    script.segment(0, 10 * MS)
    script.call(0, "f", MS)
    script.segment_end()
    script.segment(50 * MS, 60 * MS)
    script.call(50 * MS, "f", 60 * MS)
    script.segment_end()
    page = Page(browser, writer.write(script, tmp_path / "a.html"))
    assert page.text("losses") == "" and page.red(2, 0, 60) == 0
    assert page.hover(30, page.lanes(2)[0] + 6).startswith("not recorded")


def test_side_tracks_stand_below_their_thread(writer, tmp_path, browser):
    script = lossy_script()
    script.thread(1, FAULTS | 2, "page faults of within (2)", "p")
    script.segment(5 * MS, 90 * MS)
    script.fault(5 * MS, 0x1234000)
    script.fault(90 * MS, 0x5678000)
    script.segment_end()
    script.thread(1, FIRST_TRACK, "triggers", "p")
    script.segment(MS, MS)
    script.segment_end()
    page = Page(browser, writer.write(script, tmp_path / "a.html"))
    tids = page.run("data.groups.map((group) => data.tracks[group.track].tid)")
    assert tids == [FIRST_TRACK, 2, FAULTS | 2, 3, SCHED | 3]
    row = page.lanes(SCHED | 3)[1] - 8  # below the row of marks
    tip = page.hover(75, row)
    assert tip.startswith("sleeping") and "waiting for an event or a signal (S)" in tip
    told = page.click(75, row)
    assert "reasonwaiting for an event" in told and "kindsched" in told and "ended" not in told
    told = page.click(5, sum(page.lanes(FAULTS | 2)) / 2)
    assert "page fault" in told and "address0x1234000" in told


def counter_script(count, peak, value):
    """VALUE at one of COUNT samples of "depth", 1 at the others; "load" falls below zero."""
    script = Script()
    script.thread(1, COUNTERS | 2, "counters of t (2)", "p")
    script.segment(0, 100 * MS)
    for i in range(count):
        script.counter(i * (100 * MS // count), "depth of t (2)", value if i == peak else 1, 2)
    for i in range(4):
        script.counter(25 * i * MS, "load of t (2)", [0.5, -0.5, 0.25, 1.5][i], 2)
    script.segment_end()
    return script


def test_counters_are_graphs(writer, tmp_path, browser):
    """A peak is seen though ten thousand samples share the screen; a value is told exactly; none is drawn more often
    than there are pixels."""
    big = 2**53 + 1
    page = Page(browser, writer.write(counter_script(10_000, 5_003, big), tmp_path / "a.html"))
    top, _ = page.lanes(COUNTERS | 2)
    height = page.run("data.groups[0].lanes[0].height")
    assert page.run("data.groups[0].lanes.length") == 2
    # What is drawn: bars of the first graph, by the pixels that they cover.
    bars = "(() => { const bars = [], fill = pen.fillRect; pen.fillRect = (...box) => bars.push(box);" \
        "drawCounter(data.groups[0].lanes[%d], 1000); pen.fillRect = fill; return bars; })()"
    drawn = page.run(bars % 0)
    assert 100 < len(drawn) <= WIDTH + 2
    tall = [box for box in drawn if box[3] > height / 2]
    assert len(tall) == 1 and abs(tall[0][0] - page.pixel(50.03)) <= 1.5 and all(box[3] >= 1 for box in drawn)
    levels = [(round(x - page.pixel(25 * i)), y, high) for i, (x, y, _, high) in enumerate(page.run(bars % 1))]
    room, (least, most) = height - 3, page.run("(({least, most}) => [least, most])(data.groups[0].lanes[1].counter)")
    assert (least, most) == (-0.5, 1.5) and [one[0] for one in levels] == [0, 0, 0, 0]
    assert [one[2] for one in levels] == [room / 4, room / 4, room / 8, 3 * room / 4]
    assert levels[1][1] == levels[0][1] + room / 4, "a negative value hangs down"
    page.run(f"setRange({50.02 * MS}, {50.04 * MS})")
    assert str(big) in page.hover(50.035, top + 5)
    assert f"value{big}" in page.click(50.035, top + 5)
