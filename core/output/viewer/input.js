/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pointer, wheel and keys; and the start of all. */
"use strict";

const byId = (id) => document.getElementById(id);
const LEAST_NS = 20; /* on the whole width */

function setRange(begin, end) {
	const whole = data.end - data.begin, margin = whole * 0.02;
	const span = Math.max(LEAST_NS, Math.min(end - begin, whole + 2 * margin));
	view.begin = Math.max(data.begin - margin, Math.min((begin + end - span) / 2, data.end + margin - span));
	view.end = view.begin + span;
	redraw();
}

function zoom(factor, x) {
	const time = timeAt(x);
	setRange(time - (time - view.begin) * factor, time + (view.end - time) * factor);
}

const showAll = () => setRange(data.begin - (data.end - data.begin) * 0.02, data.end + (data.end - data.begin) * 0.02);

function pan(part) {
	const by = (view.end - view.begin) * part;
	setRange(view.begin + by, view.end + by);
}

function scroll(by) {
	view.scroll += by;
	redraw();
}

function select(i) {
	view.selected = i;
	showDetails(i);
	tellFound();
	resize();
}

/* Zooms and scrolls so that slice I is seen well. */
function reveal(i, zooms = false) {
	revealTime(i, data.slices.begin[i], data.slices.end[i], zooms);
}

/* Likewise, with what it stands for: [BEGIN, END]. */
function revealTime(i, begin, end, zooms = false) {
	const lane = laneOf(data, i), length = end - begin;
	const span = view.end - view.begin, middle = (begin + end) / 2;
	if (!lane)
		return;
	lane.group.isFolded = false;
	placeGroups();
	if (zooms || length < span / view.width * 40 || length > span) {
		const wanted = Math.max(length * (zooms ? 1.1 : 4), LEAST_NS);
		setRange(middle - wanted / 2, middle + wanted / 2);
	} else if (begin < view.begin || end > view.end) {
		setRange(middle - span / 2, middle + span / 2);
	}
	const room = view.height - AXIS;
	if (lane.top < view.scroll || lane.top + lane.height > view.scroll + room)
		view.scroll = lane.top - room / 2;
	redraw();
}

/* {group, lane, slice, isUnrecorded} at a point of the canvas. */
function at(x, y) {
	const top = y - AXIS + view.scroll;
	const group = y < AXIS ? null : data.groups.find((one) => top >= one.top && top < one.bottom - GAP);
	if (!group)
		return { slice: -1 };
	const lane = group.isFolded ? null : group.lanes.find((one) => top >= one.top && top < one.top + one.height);
	const slice = lane ? nearest(lane, x) : -1, time = timeAt(x);
	if (slice >= 0)
		return { group, lane, slice };
	const loss = lossAt(group, time, timeAt(x + 2) - time);
	const [first, last] = within(data.slices, group.segments, time, time);
	return { group, lane, slice: loss ? loss.slice : -1, isUnrecorded: !!lane && first === last };
}

/* The slice in LANE nearest to X, within a few pixels. */
function nearest(lane, x) {
	const { begin, end } = data.slices;
	const reach = lane.key === 1 ? 6 : 2, time = timeAt(x);
	const [first, last] = within(data.slices, lane, timeAt(x - reach), timeAt(x + reach));
	const distance = (i) => Math.max(begin[i] - time, time - end[i], 0);
	let best = first;
	for (let i = first; i < Math.min(last, first + 10000); i++)
		best = distance(i) < distance(best) ? i : best;
	return first < last ? best : -1;
}

function pointAt(event) {
	const box = canvas.getBoundingClientRect();
	return [event.clientX - box.left, event.clientY - box.top];
}

let drag = null; /* {x, y, begin, end, scroll, hasMoved} */

function whileDragged(x, y) {
	drag.hasMoved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4;
	if (!drag.hasMoved)
		return;
	const by = (x - drag.x) / view.width * (drag.end - drag.begin);
	view.scroll = drag.scroll - (y - drag.y);
	setRange(drag.begin - by, drag.end - by);
}

canvas.addEventListener("pointerdown", (event) => {
	const [x, y] = pointAt(event);
	if (event.button !== 0)
		return;
	drag = { x, y, begin: view.begin, end: view.end, scroll: view.scroll, hasMoved: false };
	canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
	const [x, y] = pointAt(event);
	if (drag)
		whileDragged(x, y);
	const found = drag?.hasMoved ? { slice: -1 } : at(x, y);
	canvas.style.cursor = drag?.hasMoved ? "grabbing" : found.slice >= 0 || (found.group && !found.lane) ? "pointer" : "default";
	showTip(found.slice, x, y);
	if (found.isUnrecorded && found.slice < 0)
		placeTip("not recorded", "  before the oldest that the ring had, or behind what was taken out of it", x, y);
	if (found.slice !== view.hovered) {
		view.hovered = found.slice;
		redraw();
	}
});
canvas.addEventListener("pointerup", (event) => {
	const wasClick = drag && !drag.hasMoved;
	const { group, lane, slice } = at(...pointAt(event));
	drag = null;
	if (!wasClick)
		return;
	if (group && !lane && (event.offsetY - AXIS + view.scroll) < group.top + TITLE)
		group.isFolded = !group.isFolded;
	else
		select(slice);
	redraw();
});
canvas.addEventListener("pointercancel", () => { drag = null; });
canvas.addEventListener("pointerleave", () => {
	view.hovered = -1;
	showTip(-1);
	redraw();
});
canvas.addEventListener("dblclick", () => view.selected >= 0 && reveal(view.selected, true));
canvas.addEventListener("wheel", (event) => {
	event.preventDefault();
	const size = event.deltaMode === 1 ? 30 : 1;
	if (event.shiftKey)
		scroll((event.deltaY || event.deltaX) * size);
	else if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
		pan(event.deltaX * size / view.width);
	else
		zoom(1.0015 ** (event.deltaY * size), pointAt(event)[0]);
	showTip(-1);
}, { passive: false });

function escape() {
	if (!byId("help").hidden)
		byId("help").hidden = true;
	else if (view.selected >= 0)
		select(-1);
	else {
		byId("search").value = "";
		setSearch("");
	}
	canvas.focus();
}

const KEYS = {
	w: () => zoom(0.7, view.width / 2), "+": () => zoom(0.7, view.width / 2), "=": () => zoom(0.7, view.width / 2),
	s: () => zoom(1 / 0.7, view.width / 2), "-": () => zoom(1 / 0.7, view.width / 2),
	a: () => pan(-0.2), ArrowLeft: () => pan(-0.2), d: () => pan(0.2), ArrowRight: () => pan(0.2),
	ArrowUp: () => scroll(-3 * LANE), ArrowDown: () => scroll(3 * LANE),
	PageUp: () => scroll(AXIS - view.height), PageDown: () => scroll(view.height - AXIS),
	"0": showAll, f: () => view.selected >= 0 && reveal(view.selected, true),
	n: () => goToMatch(1), N: () => goToMatch(-1), l: () => goToLoss(1), L: () => goToLoss(-1), Escape: escape,
	"/": () => byId("search").select(), "?": () => { byId("help").hidden = !byId("help").hidden; },
};

document.addEventListener("keydown", (event) => {
	if (!data || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.target === byId("search")) {
		if (event.key === "Enter")
			goToMatch(event.shiftKey ? -1 : 1);
		else if (event.key === "Escape")
			escape();
		return;
	}
	if (!KEYS[event.key] || event.target.closest?.("#details"))
		return;
	event.preventDefault();
	KEYS[event.key]();
});

function resize() {
	const ratio = devicePixelRatio || 1, stage = byId("stage");
	view.width = Math.max(1, stage.clientWidth);
	view.height = Math.max(1, stage.clientHeight);
	if (canvas.width !== Math.round(view.width * ratio) || canvas.height !== Math.round(view.height * ratio)) {
		canvas.width = Math.round(view.width * ratio);
		canvas.height = Math.round(view.height * ratio);
	}
	redraw();
}

/* Where slice I is drawn, in pixels of the page: for tests, and for who asks in the console. */
function boxOf(i) {
	const lane = laneOf(data, i), box = canvas.getBoundingClientRect();
	placeGroups();
	return { x: box.left + xOf(data.slices.begin[i]), y: box.top + lane.top + AXIS - view.scroll,
		width: xOf(data.slices.end[i]) - xOf(data.slices.begin[i]), height: lane.height };
}

function start() {
	data = readTimeline();
	layOut(data);
	document.title = data.command ? `${data.command} - mtrace` : "mtrace";
	byId("command").textContent = byId("command").title = data.command;
	if (!data.count)
		byId("message").textContent = "The recording contains no calls.";
	makeTheme();
	tellLosses();
	resize();
	showAll();
	new ResizeObserver(resize).observe(byId("stage"));
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		makeTheme();
		redraw();
	});
	byId("search").addEventListener("input", (event) => setSearch(event.target.value));
	byId("next").addEventListener("click", () => goToMatch(1));
	byId("previous").addEventListener("click", () => goToMatch(-1));
	byId("losses").addEventListener("click", () => goToLoss(1));
	byId("all").addEventListener("click", showAll);
	byId("keys").addEventListener("click", KEYS["?"]);
	canvas.focus();
	window.mtrace = { data, view, boxOf };
}

document.addEventListener("DOMContentLoaded", () => {
	try {
		start();
	} catch (error) {
		data = null;
		byId("stage").hidden = true;
		byId("message").textContent = `This timeline cannot be shown: ${error.message}`;
	}
});
