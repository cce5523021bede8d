// SPDX-License-Identifier: GPL-3.0-or-later OR MIT

//go:build !(linux && amd64)
// +build !linux !amd64

package mtrace

func isConstant(data *byte) bool                       { return false }
func mark(text *byte)                                  {}
func markString(text *byte, length int)                {}
func begin(name *byte)                                 {}
func beginString(name *byte, length int)               {}
func end()                                             {}
func number(name *byte, bits uint64)                   {}
func numberString(name *byte, bits uint64, length int) {}
func snapshot(reason *byte)                            {}
