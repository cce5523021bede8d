/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is told of a slice: under the pointer, and when it is clicked.  Text goes in as text alone. */
"use strict";

function timeText(ns, digits = 3) {
	const size = Math.abs(ns);
	const [unit, ratio] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
	return `${(ns / ratio).toFixed(ratio === 1 ? 0 : digits)} ${unit}`;
}

/* All digits: "1.234 567 890 s". */
const exactTime = (ns) => (ns / 1e9).toFixed(9).replace(/(\d{3})(?=\d)/g, (three, _, at, all) =>
	at > all.indexOf(".") ? three + " " : three) + " s";

const isSlice = (i) => kindOf(data.slices.flags[i]) < KIND.instant;

/* Why the end is what it is. */
function endText(flags) {
	const kind = kindOf(flags);
	if (flags & FLAG.open)
		return "still open where the recording ends";
	if (flags & FLAG.sampled)
		return "by the next sample";
	if (flags & FLAG.endLost)
		return "lost: somewhere in a gap";
	if (flags & FLAG.unwound)
		return "left without a return: longjmp, exception or the thread's end";
	if (kind === KIND.gap || kind === KIND.side)
		return "";
	return flags & FLAG.endEstimated ? "returned (time estimated)" : "returned";
}

function flagTexts(i) {
	const flags = data.slices.flags[i];
	const texts = [];
	const add = (bit, text) => {
		if (flags & bit)
			texts.push(text);
	};
	add(FLAG.inferred, "inferred: open since before the recording");
	add(FLAG.sampled, "sampled: what is between samples is not seen");
	add(FLAG.estimated, "begin estimated");
	add(FLAG.endEstimated, "end estimated");
	add(FLAG.tail, "tail call");
	add(FLAG.handler, "signal handler");
	add(FLAG.context, "shown for what it called");
	if (kindOf(flags) === KIND.inlined)
		texts.push("inlined");
	return texts;
}

/* Flags are told in words. */
const IN_WORDS = new Set(["inlined", "inferred", "tail_call", "time_estimated", "signal_handler", "unwound",
	"end_lost", "end_estimated", "file", "line", "arguments", "result", "module"]);

/* [term, text] pairs. */
function facts(i) {
	const { slices } = data;
	const args = data.argsOf(slices.chunk[i], slices.args[i]);
	const rows = [];
	const add = (term, text) => {
		if (text !== undefined && text !== "")
			rows.push([term, shown(text)]);
	};
	if (isSlice(i)) {
		add("duration", timeText(slices.end[i] - slices.begin[i]) + (slices.flags[i] & FLAG.open ? " so far" : ""));
		if (kindOf(slices.flags[i]) !== KIND.gap)
			add("self time", timeText(selfTime(data, i)));
	}
	const loss = lossOf(i);
	if (loss && !isSlice(i))
		add("duration", timeText(loss.end - loss.begin));
	add(isSlice(i) ? "begin" : "time", exactTime(slices.begin[i] - data.begin));
	if (isSlice(i)) {
		add("end", exactTime(slices.end[i] - data.begin));
		add("ended", endText(slices.flags[i]));
	}
	add("arguments", args.arguments);
	add("result", args.result);
	add("source", args.file === undefined ? "" : args.line ? `${args.file}:${args.line}` : args.file);
	add("module", args.module);
	for (const [name, value] of Object.entries(args))
		if (!IN_WORDS.has(name))
			add(name.replaceAll("_", " "), value);
	add("flags", flagTexts(i).join(", "));
	add("kind", data.categories[slices.name[i]]);
	add("track", laneOf(data, i)?.group.title);
	return rows;
}

/* What was lost, if slice I tells of that. */
const lossOf = (i) => isLost(data, i) ? laneOf(data, i)?.group.losses.find((loss) => loss.slice === i) : null;

function element(tag, text) {
	const node = document.createElement(tag);
	node.textContent = text;
	return node;
}

function showDetails(i) {
	const panel = document.getElementById("details");
	panel.replaceChildren();
	panel.hidden = i < 0;
	if (i < 0)
		return;
	const list = document.createElement("dl");
	for (const [term, text] of facts(i))
		list.append(element("dt", term), element("dd", text));
	panel.append(element("h2", data.names[data.slices.name[i]]), list);
	panel.scrollTop = 0;
}

/* I < 0: nothing. */
function showTip(i, x, y) {
	const tip = document.getElementById("tip");
	tip.hidden = i < 0;
	if (i < 0)
		return;
	const { slices } = data, loss = lossOf(i);
	let text = isSlice(i)
		? `  ${timeText(slices.end[i] - slices.begin[i])}, self ${timeText(selfTime(data, i))}`
		: kindOf(slices.flags[i]) === KIND.counter ? `  ${counterText(data, i)}`
			: `  at ${exactTime(slices.begin[i] - data.begin)}`;
	if (loss)
		text = `  for ${timeText(loss.end - loss.begin)}`;
	const args = data.argsOf(slices.chunk[i], slices.args[i]);
	if (args.reason)
		text += `  ${shown(args.reason)}`;
	placeTip(data.names[slices.name[i]], text, x, y);
}

function placeTip(name, text, x, y) {
	const tip = document.getElementById("tip");
	tip.hidden = false;
	tip.replaceChildren(name, element("span", text));
	const { width, height } = view;
	tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
	tip.style.top = `${y + 18 + tip.offsetHeight > height ? y - tip.offsetHeight - 8 : y + 18}px`;
}
