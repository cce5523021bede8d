/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the page's data: core/output/html.c describes it. */
"use strict";

const FLAG = { inferred: 1, estimated: 2, tail: 4, handler: 8, context: 16, sampled: 32,
	open: 1 << 8, unwound: 2 << 8, endEstimated: 4 << 8, endLost: 8 << 8 };
const KIND = { call: 0, inlined: 1, syscall: 2, untraced: 3, gap: 4, side: 5,
	instant: 16, counter: 17, segment: 18 };
const NO_ARGS = 0xffffffff;
const FIRST_TRACK_TID = 1 << 22; /* tracks that are no threads have numbers from here on */
const kindOf = (flags) => flags >>> 16 & 255;

/* Text of the traced program, as it may be shown: nothing in it is hidden or turns the line around. */
function shown(text) {
	return String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
		(c) => "\\u" + (c.codePointAt(0) > 0xffff ? `{${c.codePointAt(0).toString(16)}}`
			: c.codePointAt(0).toString(16).padStart(4, "0")));
}

function bytesOf(base64) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(base64);
	const text = atob(base64);
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return bytes;
}

/* All rows, in the order of the file; {columns, argsOf}. */
function readRows(count) {
	const columns = { begin: new Float64Array(count), duration: new Float64Array(count) };
	for (const name of ["track", "depth", "name", "args", "flags", "chunk"])
		columns[name] = new Uint32Array(count);
	const args = [...document.querySelectorAll("script.args")];
	let first = 0;
	document.querySelectorAll("script.rows").forEach((node, number) => {
		const size = Number(node.dataset.count);
		const { buffer } = bytesOf(node.textContent);
		columns.begin.set(new Float64Array(buffer, 0, size), first);
		columns.duration.set(new Float64Array(buffer, 8 * size, size), first);
		["track", "depth", "name", "args", "flags"].forEach((name, i) =>
			columns[name].set(new Uint32Array(buffer, (16 + 4 * i) * size, size), first));
		columns.chunk.fill(number, first, first + size);
		first += size;
		node.remove(); /* its text is not needed any more */
	});
	if (first !== count)
		throw new Error(`the page has ${first} rows instead of ${count}`);
	return { columns, args };
}

/* A number that JavaScript would round is shown as it stands in the file. */
function parseArgs(text) {
	return JSON.parse(text, (key, value, context) =>
		typeof value === "number" && !Number.isSafeInteger(value) && context ? context.source : value);
}

/* The thread, or the thread of a side track. */
const ownerOf = (tid) => tid >= FIRST_TRACK_TID ? tid % FIRST_TRACK_TID : tid;

/* Threads in the order in which they came, each with its side tracks behind it. */
function orderOfTracks(tracks) {
	const first = new Map();
	const key = (track) => `${track.pid} ${ownerOf(track.tid)}`;
	tracks.forEach((track, number) => {
		if (track.tid < FIRST_TRACK_TID)
			first.set(key(track), number);
	});
	const rank = (track) => track.tid === FIRST_TRACK_TID ? -1 : first.get(key(track)) ?? tracks.length;
	return tracks.map((track, number) => number)
		.sort((a, b) => rank(tracks[a]) - rank(tracks[b]) || tracks[a].tid - tracks[b].tid);
}

function readTimeline() {
	const node = document.getElementById("timeline");
	if (!node)
		throw new Error("the page is not whole: its end is missing");
	const head = JSON.parse(node.textContent);
	if (head.version !== 1)
		throw new Error(`the page's data is of version ${head.version}`);
	const tracks = head.tracks.map(([pid, tid, name, process]) => ({ pid, tid, name, process }));
	const names = head.names.map(([name]) => shown(name));
	const { columns, args } = readRows(head.rows);
	const parsed = new Map();
	return {
		command: shown(head.command ?? ""), base: BigInt(head.base_ns), tracks, names,
		categories: head.names.map(([, category]) => category),
		order: orderOfTracks(tracks), columns, count: head.rows,
		argsOf(chunk, number) {
			if (number === NO_ARGS)
				return {};
			if (!parsed.has(chunk)) {
				if (parsed.size > 16)
					parsed.clear();
				parsed.set(chunk, parseArgs(args[chunk].textContent));
			}
			return parsed.get(chunk)[number];
		},
	};
}
