/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lost data.  Where it is shown as a slice, that says from when to when.  Else a mark says when it
 * began: what was known of the thread ends there, so the loss goes on to the end of the segment, or
 * to the next one.  Events of the kernel that were dropped are lost at a moment. */
"use strict";

const isLost = (data, i) => data.categories[data.slices.name[i]] === "lost";
const DROPPED = "[lost: the kernel dropped events]";

function lossOfMark(data, group, lane, i) {
	const { begin, end } = data.slices, { first, last } = group.segments;
	const time = begin[i], loss = { slice: i, begin: time, end: time, lane };
	if (data.names[data.slices.name[i]] === DROPPED)
		return loss;
	const segment = firstWhere(first, last, (k) => end[k] >= time);
	if (segment < last)
		loss.end = Math.max(time, end[segment] > time || segment + 1 === last ? end[segment] : begin[segment + 1]);
	return loss;
}

/* group.losses: in time, {slice, begin, end, lane}; the mark of one that has a slice is not there. */
function findLosses(data) {
	const { begin, end } = data.slices;
	data.losses = [];
	for (const group of data.groups) {
		const shownAt = new Set();
		group.losses = [];
		for (const lane of group.lanes)
			for (const i of lane.gaps) {
				group.losses.push({ slice: i, begin: begin[i], end: end[i], lane });
				shownAt.add(begin[i]);
			}
		const marks = group.lanes.find((lane) => lane.key === 1);
		for (let i = marks ? marks.first : 0; marks && i < marks.last; i++)
			if (isLost(data, i) && !shownAt.has(begin[i])) {
				group.losses.push(lossOfMark(data, group, marks, i));
				shownAt.add(begin[i]);
			}
		group.losses.sort((a, b) => a.begin - b.begin);
		for (const loss of group.losses)
			data.losses.push(loss);
	}
	data.losses.sort((a, b) => a.begin - b.begin);
}

/* The loss of GROUP at TIME, or within REACH of it. */
function lossAt(group, time, reach) {
	const { losses } = group;
	const k = firstWhere(0, losses.length, (one) => losses[one].end >= time - reach);
	return k < losses.length && losses[k].begin <= time + reach ? losses[k] : null;
}

/* Over all lanes, which stay readable below; and in the title, where a folded thread has it, too. */
function drawLosses(group, top, bottom) {
	const { losses } = group;
	let drawn = -Infinity;
	for (let k = firstWhere(0, losses.length, (one) => losses[one].end >= view.begin);
		k < losses.length && losses[k].begin <= view.end; k++) {
		const x = Math.max(xOf(losses[k].begin), -2), width = Math.min(xOf(losses[k].end), view.width + 2) - x;
		if (width < 3 && x < drawn + 3)
			continue;
		drawn = x;
		pen.fillStyle = theme.bad;
		pen.fillRect(x - (width < 3 ? 1 : 0), top + TITLE - 6, Math.max(width, 3), 4);
		if (group.isFolded)
			continue;
		pen.fillStyle = width < 3 ? theme.bad : theme.loss;
		pen.fillRect(x - (width < 3 ? 1 : 0), top + TITLE - 2, Math.max(width, 3), bottom - top - TITLE + 2);
		if (width > 60)
			labelLoss(losses[k], x, width, top - group.top);
	}
}

/* On a plain ground, since no text is read on a hatched one. */
function labelLoss({ slice, lane }, x, width, shift) {
	const name = data.names[data.slices.name[slice]], y = lane.top + shift;
	pen.fillStyle = theme.back;
	pen.fillRect(x + 6, y + 1, Math.min(name.length * CHARACTER + 6, width - 12), LANE - 3);
	label(name, x + 6, y, width - 12);
}

function tellLosses() {
	const button = document.getElementById("losses");
	button.hidden = !data.losses.length;
	button.textContent = data.losses.length === 1 ? "1 loss of data" : `${data.losses.length} losses of data`;
}

/* The loss behind the selected slice, in time; or before it. */
function goToLoss(step) {
	const { losses } = data, { begin } = data.slices;
	const from = losses.findIndex((loss) => loss.slice === view.selected);
	const time = view.selected >= 0 ? begin[view.selected] : -Infinity;
	let to = from >= 0 ? from + step : losses.findIndex((loss) => loss.begin > time) - (step > 0 ? 0 : 1);
	if (!losses.length)
		return;
	if (from < 0 && to === -1)
		to = step > 0 ? 0 : losses.length - 1;
	const loss = losses[(to + losses.length) % losses.length];
	select(loss.slice);
	revealTime(loss.slice, loss.begin, loss.end);
}
