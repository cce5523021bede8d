// SPDX-License-Identifier: GPL-3.0-or-later OR MIT

// Package mtrace is what a program says of itself on its timeline: mtrace.h for Go, without cgo.
// Nothing happens until mtdb records: each of these calls a function that does nothing.
//
//	mtrace.Mark("cache flushed")            // an instant among the calls
//	mtrace.Begin("request"); mtrace.End()   // a span, on a track of its thread's own
//	defer mtrace.Span("request")()          // the same, to the end of the function
//	mtrace.Number("queue length", 17)       // a counter
//	mtrace.Snapshot("balance is negative")  // a snapshot of what came before
//
// A constant string is recorded by its address and shown whole; of others the first 32 bytes are
// recorded.  A span belongs to a thread: a goroutine that may go on in another one between Begin
// and End calls runtime.LockOSThread first.  See mtdb(1), MTRACE.H.
package mtrace

import (
	"math"
	"unsafe"
)

// Room for what is recorded of a text, and of a reason, and a NUL.
const (
	textSize   = 40
	reasonSize = 256
)

// Mark puts an instant among the calls.
func Mark(text string) {
	if data, isConstant := find(text); isConstant {
		markString(data, len(text))
	} else {
		var copied [textSize]byte
		copy(copied[:textSize-1], text)
		mark(&copied[0])
	}
}

// Begin begins a span of this thread.
func Begin(name string) {
	if data, isConstant := find(name); isConstant {
		beginString(data, len(name))
	} else {
		var copied [textSize]byte
		copy(copied[:textSize-1], name)
		begin(&copied[0])
	}
}

// End ends the span that this thread began last.
func End() {
	end()
}

// Span begins a span, and returns what ends it.
func Span(name string) func() {
	Begin(name)
	return End
}

// Number says a counter's value from now on.
func Number(name string, value float64) {
	if data, isConstant := find(name); isConstant {
		numberString(data, math.Float64bits(value), len(name))
	} else {
		var copied [textSize]byte
		copy(copied[:textSize-1], name)
		number(&copied[0], math.Float64bits(value))
	}
}

// Snapshot asks for a snapshot of what came before.
func Snapshot(reason string) {
	var copied [reasonSize]byte
	copy(copied[:reasonSize-1], reason)
	snapshot(&copied[0])
}

// find returns where text lies, and whether that is in the program's file.
func find(text string) (*byte, bool) {
	data := (*struct {
		data   *byte
		length int
	})(unsafe.Pointer(&text)).data

	return data, isConstant(data)
}
