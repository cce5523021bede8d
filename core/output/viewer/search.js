/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search by a part of the name; capitals count only where there are any. */
"use strict";

const search = { text: "", names: null, count: 0 };

const matches = (i) => search.names !== null && search.names[data.slices.name[i]] === 1
	&& kindOf(data.slices.flags[i]) !== KIND.segment;

function setSearch(text) {
	const fold = (name) => text === text.toLowerCase() ? name.toLowerCase() : name;
	search.text = text;
	search.names = text ? Uint8Array.from(data.names, (name) => fold(name).includes(text) ? 1 : 0) : null;
	search.count = 0;
	for (let i = 0; text && i < data.count; i++)
		search.count += matches(i) ? 1 : 0;
	tellFound();
	redraw();
}

/* In the order of time, and of slices that begin together: from the top down. */
function isBefore(a, b) {
	const { begin } = data.slices;
	return begin[a] < begin[b] || (begin[a] === begin[b] && a < b);
}

function tellFound() {
	const found = document.getElementById("found");
	if (!search.text) {
		found.textContent = "";
		return;
	}
	let before = 0;
	const isOne = view.selected >= 0 && matches(view.selected);
	for (let i = 0; isOne && i < data.count; i++)
		before += matches(i) && isBefore(i, view.selected) ? 1 : 0;
	found.textContent = isOne ? `${before + 1} of ${search.count}` : `${search.count} found`;
}

/* The match behind the selected slice, or with STEP -1 before it; the first, or last, else. */
function goToMatch(step) {
	let best = -1, farthest = -1;
	for (let i = 0; i < data.count; i++) {
		if (!matches(i))
			continue;
		const beats = (other) => other < 0 || (step > 0 ? isBefore(i, other) : isBefore(other, i));
		if (beats(farthest))
			farthest = i;
		const isAhead = view.selected < 0 || (step > 0 ? isBefore(view.selected, i) : isBefore(i, view.selected));
		if (isAhead && beats(best))
			best = i;
	}
	const found = best < 0 ? farthest : best;
	if (found < 0)
		return;
	select(found);
	reveal(found);
}
