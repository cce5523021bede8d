// SPDX-License-Identifier: GPL-3.0-or-later OR MIT

package mtrace

// In mtrace_linux_amd64.s.

//go:noescape
func isConstant(data *byte) bool

//go:noescape
func mark(text *byte)

//go:noescape
func markString(text *byte, length int)

//go:noescape
func begin(name *byte)

//go:noescape
func beginString(name *byte, length int)

func end()

//go:noescape
func number(name *byte, bits uint64)

//go:noescape
func numberString(name *byte, bits uint64, length int)

//go:noescape
func snapshot(reason *byte)
