/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts slices into lanes: one for each depth of each thread, sorted by time, in which they do not
 * overlap.  A group is a thread with its lanes. */
"use strict";

/* The first i of [low, high) for which IS(i), which holds for all behind it, too; else HIGH. */
function firstWhere(low, high, is) {
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (is(middle))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* In each group: the marks, then the calls by depth, or the counters by name. */
function laneKeys(data) {
	const { columns, tracks } = data;
	const counters = tracks.map(() => new Map());
	const keys = new Uint32Array(data.count);
	for (let i = 0; i < data.count; i++) {
		const kind = kindOf(columns.flags[i]);
		if (kind === KIND.segment) {
			keys[i] = 0;
		} else if (kind === KIND.instant) {
			keys[i] = 1;
		} else if (kind === KIND.counter) {
			const known = counters[columns.track[i]];
			if (!known.has(columns.name[i]))
				known.set(columns.name[i], known.size);
			keys[i] = 2 + known.get(columns.name[i]);
		} else {
			keys[i] = 2 + columns.depth[i];
		}
	}
	return keys;
}

/* How many rows each lane has: counts[track][key]. */
function countLanes(data, keys) {
	const counts = data.tracks.map(() => []);
	for (let i = 0; i < data.count; i++) {
		const lanes = counts[data.columns.track[i]];
		while (lanes.length <= keys[i])
			lanes.push(0);
		lanes[keys[i]]++;
	}
	return counts;
}

/* Columns in the order of the lanes, with ends in place of durations, but of counters: see finishCounter(). */
function scatter(data, keys, starts) {
	const { columns, count } = data;
	const slices = { begin: new Float64Array(count), end: new Float64Array(count) };
	for (const name of ["track", "depth", "name", "args", "flags", "chunk"])
		slices[name] = new Uint32Array(count);
	for (let i = 0; i < count; i++) {
		const to = starts[columns.track[i]][keys[i]]++;
		const isCounter = kindOf(columns.flags[i]) === KIND.counter;
		slices.begin[to] = columns.begin[i];
		slices.end[to] = columns.duration[i] + (isCounter ? 0 : columns.begin[i]);
		for (const name of ["track", "depth", "name", "args", "flags", "chunk"])
			slices[name][to] = columns[name][i];
	}
	return slices;
}

function titleOf(track) {
	const owner = ownerOf(track.tid);
	const process = track.process && track.process !== track.name ? shown(track.process) : "process";
	const name = track.name ? shown(track.name) : "thread";
	if (track.tid >= FIRST_TRACK_TID)
		return owner ? `${name}  (of thread ${owner}, ${process} ${track.pid})` : `${name}  (${process} ${track.pid})`;
	return `${name}  (thread ${track.tid}, ${process} ${track.pid})`;
}

/* data.slices, data.groups, data.begin and data.end; what was read is let go of. */
function layOut(data) {
	const keys = laneKeys(data);
	const counts = countLanes(data, keys);
	const starts = counts.map(() => []);
	let next = 0;
	data.groups = [];
	for (const track of data.order) {
		const group = { track, title: titleOf(data.tracks[track]), lanes: [], isFolded: false };
		counts[track].forEach((count, key) => {
			starts[track][key] = next;
			group.lanes.push({ key, group, first: next, last: next + count });
			next += count;
		});
		if (group.lanes.length)
			data.groups.push(group);
	}
	data.slices = scatter(data, keys, starts);
	data.columns = null;
	finishLanes(data);
}

function finishLane(data, lane) {
	const { slices } = data;
	lane.gaps = [];
	lane.height = LANE;
	for (let i = lane.first; i < lane.last; i++)
		if (kindOf(slices.flags[i]) === KIND.gap)
			lane.gaps.push(i);
	if (lane.last > lane.first && kindOf(slices.flags[lane.first]) === KIND.counter)
		finishCounter(data, lane);
}

function finishLanes(data) {
	const { slices } = data;
	data.begin = Infinity;
	data.end = -Infinity;
	for (let i = 0; i < data.count; i++) {
		data.begin = Math.min(data.begin, slices.begin[i]);
		data.end = Math.max(data.end, kindOf(slices.flags[i]) === KIND.counter ? slices.begin[i] : slices.end[i]);
	}
	if (!(data.end > data.begin))
		[data.begin, data.end] = data.count ? [data.begin, data.begin + 1] : [0, 1];
	for (const group of data.groups) {
		group.segments = group.lanes[0];
		group.lanes = group.lanes.filter((lane) => lane.key && (lane.key > 1 || lane.last > lane.first));
		group.calls = new Map(group.lanes.map((lane) => [lane.key - 2, lane]));
		for (const lane of group.lanes)
			finishLane(data, lane);
	}
	findLosses(data);
}

/* Slices of LANE whose time touches [BEGIN, END]: [first, last). */
function within(slices, lane, begin, end) {
	const first = firstWhere(lane.first, lane.last, (i) => slices.end[i] >= begin);
	return [first, firstWhere(first, lane.last, (i) => slices.begin[i] > end)];
}

function laneOf(data, slice) {
	for (const group of data.groups)
		if (group.track === data.slices.track[slice])
			return group.lanes.find((lane) => slice >= lane.first && slice < lane.last);
	return null;
}

/* The time of a call without that of the calls below it. */
function selfTime(data, slice) {
	const { slices } = data;
	const begin = slices.begin[slice], end = slices.end[slice];
	const below = laneOf(data, slice)?.group.calls.get(slices.depth[slice] + 1);
	let self = end - begin;
	if (!below)
		return self;
	const [first, last] = within(slices, below, begin, end);
	for (let i = first; i < last; i++)
		self -= Math.max(0, Math.min(slices.end[i], end) - Math.max(slices.begin[i], begin));
	return self;
}
