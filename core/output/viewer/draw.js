/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The canvas.  Only lanes on the screen are drawn, and of each at most one slice a pixel, which is
 * found by binary search: the cost follows the screen's size, not the timeline's. */
"use strict";

const AXIS = 24, TITLE = 20, LANE = 17, GAP = 6;
const CHARACTER = 6.7; /* width of the canvas's font */
const canvas = document.getElementById("canvas");
const pen = canvas.getContext("2d", { alpha: false });

let data = null;
const view = { begin: 0, end: 1, scroll: 0, width: 0, height: 0, selected: -1, hovered: -1 };
let theme = null;
let isDrawing = false;

const xOf = (time) => (time - view.begin) / (view.end - view.begin) * view.width;
const timeAt = (x) => view.begin + x / view.width * (view.end - view.begin);

function redraw() {
	if (isDrawing)
		return;
	isDrawing = true;
	requestAnimationFrame(() => {
		isDrawing = false;
		if (data)
			draw();
	});
}

function hueOf(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return (hash >>> 8) % 360;
}

/* No BACK: what lies below is seen between the lines. */
function hatch(colour, back) {
	const tile = new OffscreenCanvas(8, 8);
	const on = tile.getContext("2d");
	on.fillStyle = back ?? "transparent";
	on.fillRect(0, 0, 8, 8);
	on.strokeStyle = colour;
	on.lineWidth = 1.5;
	on.beginPath();
	for (const x of [-8, 0, 8]) {
		on.moveTo(x, 8);
		on.lineTo(x + 8, 0);
	}
	on.stroke();
	return pen.createPattern(tile, "repeat");
}

function makeTheme() {
	const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
	const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const colourOf = (name, number) => data.categories[number] === "kernel" || /^\[/.test(name)
		? (isDark ? "#4a525e" : "#cdd2d9")
		: `hsl(${hueOf(name)} ${isDark ? "38% 36%" : "62% 80%"})`;
	theme = {
		back: of("--back"), panel: of("--panel"), line: of("--line"), text: of("--text"), dim: of("--dim"),
		accent: of("--accent"), bad: of("--bad"), colours: data.names.map(colourOf),
		unrecorded: hatch(of("--line"), of("--back")),
		gap: hatch(of("--bad"), isDark ? "#3b1f1f" : "#fde4e2"), loss: hatch(of("--bad")),
	};
}

/* Sets where groups and lanes stand, from the top of all; returns the height. */
function placeGroups() {
	let y = 0;
	for (const group of data.groups) {
		group.top = y;
		y += TITLE;
		for (const lane of group.isFolded ? [] : group.lanes) {
			lane.top = y;
			y += lane.height;
		}
		y += GAP;
		group.bottom = y;
	}
	return y;
}

function label(text, x, y, width) {
	const room = Math.floor((width - 6) / CHARACTER);
	if (room < 2)
		return;
	pen.fillStyle = theme.text;
	pen.fillText(text.length > room ? text.slice(0, room - 1) + "…" : text, x + 3, y + 12);
}

/* An end, or a begin, that is not known fades out. */
function fill(x, y, width, flags) {
	const fade = Math.min(32, width / 2);
	const left = flags & FLAG.inferred ? fade : 0, right = flags & FLAG.open ? fade : 0;
	const alpha = pen.globalAlpha;
	pen.fillRect(x + left, y, Math.max(width - left - right, 0), LANE - 1);
	for (let i = 0; i < 8; i++) {
		pen.globalAlpha = alpha * (i + 1) / 9;
		if (left)
			pen.fillRect(x + left * i / 8, y, left / 8, LANE - 1);
		if (right)
			pen.fillRect(x + width - right * (i + 1) / 8, y, right / 8, LANE - 1);
	}
	pen.globalAlpha = alpha;
}

function outline(x, y, width, height = LANE) {
	pen.strokeStyle = theme.text;
	pen.lineWidth = 2;
	pen.strokeRect(x + 0.5, y, Math.max(width - 1, 2), height - 2);
}

function drawSlice(i, x, y, width) {
	const { flags, name } = data.slices;
	const kind = kindOf(flags[i]);
	pen.globalAlpha = search.names && !matches(i) ? 0.25 : kind === KIND.inlined ? 0.7 : 1;
	pen.fillStyle = kind === KIND.gap ? theme.gap : theme.colours[name[i]];
	fill(x, y, width - (width > 3 ? 0.5 : 0), flags[i]);
	if (width > 20 && kind !== KIND.gap)
		label(data.names[name[i]], x, y, width);
	pen.globalAlpha = 1;
	if (i === view.selected || i === view.hovered)
		outline(x, y, width);
}

/* Of the slices [FIRST, LAST), which share a pixel: one that is searched for, else the first. */
function spokesman(first, last) {
	for (let i = first; search.names && i < last; i++)
		if (matches(i))
			return i;
	return first;
}

function drawLane(lane, y) {
	const { begin, end } = data.slices;
	let i = firstWhere(lane.first, lane.last, (k) => end[k] >= view.begin);
	while (i < lane.last && begin[i] <= view.end) {
		const x = Math.max(xOf(begin[i]), -2), width = Math.min(xOf(end[i]), view.width + 2) - x;
		if (width >= 1) {
			drawSlice(i, x, y, width);
			i++;
			continue;
		}
		const pixel = Math.floor(x), after = timeAt(pixel + 1);
		const next = firstWhere(i + 1, lane.last, (k) => end[k] >= after);
		drawSlice(spokesman(i, next), pixel, y, 1);
		i = next;
	}
}

function markColour(i) {
	const name = data.names[data.slices.name[i]];
	if (data.categories[data.slices.name[i]] === "lost" || /^(SIG|signal )/.test(name))
		return theme.bad;
	return name === "snapshot" || name === "exit" ? theme.dim : theme.accent;
}

/* A triangle at the time, with the name behind it as far as there is room before the next. */
function drawMarks(lane, y) {
	const { begin, name } = data.slices;
	let i = firstWhere(lane.first, lane.last, (k) => begin[k] >= timeAt(-60));
	while (i < lane.last && begin[i] <= view.end) {
		const x = xOf(begin[i]), after = timeAt(Math.floor(x) + 2);
		const next = firstWhere(i + 1, lane.last, (k) => begin[k] >= after);
		const shownMark = spokesman(i, next);
		pen.globalAlpha = search.names && !matches(shownMark) ? 0.25 : 1;
		pen.fillStyle = markColour(shownMark);
		pen.beginPath();
		pen.moveTo(x - 5, y + 3);
		pen.lineTo(x + 5, y + 3);
		pen.lineTo(x, y + 13);
		pen.fill();
		label(data.names[name[shownMark]], x + 5, y, Math.min(next < lane.last ? xOf(begin[next]) - x - 12 : 300, 300));
		pen.globalAlpha = 1;
		if (shownMark === view.selected || shownMark === view.hovered)
			outline(x - 6, y, 12);
		i = next;
	}
}

/* What was not recorded of the thread is hatched. */
function drawSegments(group, top, bottom) {
	const { begin, end } = data.slices;
	const [first, last] = within(data.slices, group.segments, view.begin, view.end);
	pen.fillStyle = theme.unrecorded;
	pen.fillRect(0, top, view.width, bottom - top);
	pen.fillStyle = theme.back;
	for (let i = first; i < last; i++) {
		const x = Math.max(xOf(begin[i]), 0);
		pen.fillRect(x, top, Math.min(xOf(end[i]), view.width) - x, bottom - top);
	}
}

function drawGroup(group, shift) {
	const top = group.top + shift;
	pen.fillStyle = theme.panel;
	pen.fillRect(0, top, view.width, TITLE - 2);
	pen.fillStyle = theme.text;
	pen.fillText(`${group.isFolded ? "▸" : "▾"} ${group.title}`, 6, top + 13);
	if (!group.isFolded) {
		drawSegments(group, top + TITLE - 2, group.bottom - GAP + shift);
		drawLanes(group, shift);
	}
	drawLosses(group, top, group.bottom - GAP + shift);
}

function drawLanes(group, shift) {
	for (const lane of group.lanes) {
		const y = lane.top + shift;
		if (y + lane.height < AXIS || y > view.height || lane.first === lane.last)
			continue;
		if (lane.key === 1)
			drawMarks(lane, y);
		else
			(lane.counter ? drawCounter : drawLane)(lane, y);
	}
}

function drawAxis() {
	const rough = (view.end - view.begin) / view.width * 110;
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = Math.max(1, [1, 2, 5, 10].find((k) => k * power >= rough) * power);
	pen.fillStyle = theme.panel;
	pen.fillRect(0, 0, view.width, AXIS);
	const first = Math.ceil((view.begin - data.begin) / step);
	for (let k = first; k * step + data.begin <= view.end; k++) {
		const x = Math.round(xOf(k * step + data.begin));
		pen.fillStyle = theme.line;
		pen.fillRect(x, 0, 1, AXIS);
		pen.fillStyle = theme.dim;
		pen.fillText(tickText(k * step, step), x + 4, 16);
	}
	pen.fillStyle = theme.line;
	pen.fillRect(0, AXIS - 1, view.width, 1);
}

/* As many decimals as tell one tick from the next. */
function tickText(ns, step) {
	const size = Math.max(Math.abs(view.begin - data.begin), Math.abs(view.end - data.begin));
	const [unit, ratio] = size >= 2e9 ? ["s", 1e9] : size >= 2e6 ? ["ms", 1e6] : size >= 2e3 ? ["µs", 1e3] : ["ns", 1];
	return `${(ns / ratio).toFixed(Math.max(0, Math.ceil(Math.log10(ratio / step) - 1e-9)))} ${unit}`;
}

function draw() {
	const total = placeGroups();
	view.scroll = Math.max(0, Math.min(view.scroll, total - (view.height - AXIS)));
	const shift = AXIS - view.scroll, ratio = devicePixelRatio || 1;
	pen.setTransform(ratio, 0, 0, ratio, 0, 0);
	pen.font = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
	pen.fillStyle = theme.back;
	pen.fillRect(0, 0, view.width, view.height);
	for (const group of data.groups)
		if (group.bottom + shift > AXIS && group.top + shift < view.height)
			drawGroup(group, shift);
	drawAxis();
	if (total > view.height - AXIS) {
		const room = view.height - AXIS, size = Math.max(20, room * room / total);
		pen.fillStyle = theme.dim;
		pen.fillRect(view.width - 5, AXIS + view.scroll / (total - room) * (room - size), 4, size);
	}
}
