/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters: a graph each.  A value holds until the next one. */
"use strict";

/* BEST of any values[first, last), in steps of which there are as many as the range has digits: so a
 * peak is seen however many samples share its pixel. */
function rangeTree(values, best) {
	const count = values.length, tree = new Float64Array(2 * count);
	tree.set(values, count);
	for (let i = count - 1; i > 0; i--)
		tree[i] = best(tree[2 * i], tree[2 * i + 1]);
	return (first, last) => {
		let found = values[first];
		for (let low = first + count, high = last + count; low < high; low >>= 1, high >>= 1) {
			if (low & 1)
				found = best(found, tree[low++]);
			if (high & 1)
				found = best(found, tree[--high]);
		}
		return found;
	};
}

/* The lane's rows have their values in place of ends, which they get here. */
function finishCounter(data, lane) {
	const { begin, end } = data.slices;
	const values = end.slice(lane.first, lane.last).map((value) => Number.isFinite(value) ? value : 0);
	for (let i = lane.first; i < lane.last; i++)
		end[i] = i + 1 < lane.last ? begin[i + 1] : Math.max(begin[i], data.end);
	const highest = rangeTree(values, Math.max), lowest = rangeTree(values, Math.min);
	lane.height = 2 * LANE;
	lane.counter = {
		highest: (first, last) => highest(first - lane.first, last - lane.first),
		lowest: (first, last) => lowest(first - lane.first, last - lane.first),
		most: Math.max(0, highest(0, values.length)), least: Math.min(0, lowest(0, values.length)),
	};
}

const counterText = (data, i) => String(data.argsOf(data.slices.chunk[i], data.slices.args[i]).value);

const shortNumber = (number) => Math.abs(number) < 1e4 ? String(Number(number.toFixed(3)))
	: new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 }).format(number);

/* Of those that begin within one pixel the extremes are drawn there, and behind it what the last left. */
function drawCounter(lane, y) {
	const { begin, end, name } = data.slices;
	const { highest, lowest, most, least } = lane.counter;
	const room = lane.height - 3;
	const yOf = (value) => y + 1 + (most - value) / (most - least || 1) * room;
	const bar = (first, last, x, width) => {
		const top = yOf(Math.max(highest(first, last), 0)), bottom = yOf(Math.min(lowest(first, last), 0));
		pen.globalAlpha = first <= view.hovered && view.hovered < last ? 0.9 : 0.55;
		pen.fillRect(x, top, width, Math.max(bottom - top, 1));
		if (first <= view.selected && view.selected < last)
			outline(x, y, width, lane.height);
	};
	pen.fillStyle = theme.accent;
	let i = firstWhere(lane.first, lane.last, (k) => end[k] >= view.begin);
	while (i < lane.last && begin[i] <= view.end) {
		const x = Math.max(xOf(begin[i]), -2), pixel = Math.floor(x) + 1, after = timeAt(pixel);
		const next = firstWhere(i + 1, lane.last, (k) => begin[k] >= after);
		const right = Math.min(xOf(end[next - 1]), view.width + 2);
		if (next === i + 1 || right <= pixel + 1) {
			bar(i, next, x, Math.max(right - x, 1));
		} else {
			bar(i, next, x, pixel - x);
			bar(next - 1, next, pixel, right - pixel);
		}
		i = next;
	}
	pen.globalAlpha = 1;
	label(`${data.names[name[lane.first]]}  ${shortNumber(least)} … ${shortNumber(most)}`, 0, y, view.width);
}
