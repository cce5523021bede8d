// SPDX-License-Identifier: GPL-3.0-or-later OR MIT
//! What a program says of itself on its timeline, for Rust (1.63 and later): mtrace.h as a module.
//! No crate is needed, and nothing happens until mtdb records: each of these calls a function that
//! does nothing.
//!
//! ```ignore
//! mod mtrace; // this file, as src/mtrace.rs
//!
//! mtrace::mark("cache flushed");           // an instant among the calls
//! mtrace::begin("request"); mtrace::end(); // a span, on a track of its thread's own
//! let _span = mtrace::span("request");     // the same, until it is dropped
//! mtrace::number("queue length", 17.0);    // a counter
//! mtrace::snapshot("balance is negative"); // a snapshot of what came before
//! ```
//!
//! A literal is recorded by its address and shown whole; of other texts, which `mark_text`,
//! `begin_text` and `number_text` take, the first 32 bytes are recorded.  See mtdb(1), MTRACE.H.
#![allow(dead_code)]

/* Each function has room for a jump, and its arguments where C has them.  They are weak, as those of
 * mtrace.h are, so that several crates may have this file, and no two are the same, so that no
 * linker makes one of them; by the note mtdb knows that they are there.  They are called in
 * assembly, as editions write `extern` differently. */
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
))]
macro_rules! say {
    ($name:literal $(, $register:tt: $argument:expr)*) => {
        unsafe {
            core::arch::asm!(concat!("call ", $name, "@PLT"), $(in($register) $argument,)*
                             clobber_abi("C"))
        }
    };
}

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
)))]
macro_rules! say {
    ($name:literal $(, $register:tt: $argument:expr)*) => {{
        $(let _ = $argument;)*
    }};
}

/// An instant among the calls.
#[inline]
pub fn mark(text: &'static str) {
    say!("mtrace_mark_string", "rdi": text.as_ptr(), "rsi": text.len())
}

/// The same, of a text that the program made.
#[inline]
pub fn mark_text(text: &str) {
    let text = Text::<40>::new(text);

    say!("mtrace_mark", "rdi": text.0.as_ptr())
}

/// A span of this thread begins.
#[inline]
pub fn begin(name: &'static str) {
    say!("mtrace_begin_string", "rdi": name.as_ptr(), "rsi": name.len())
}

/// The same, by a name that the program made.
#[inline]
pub fn begin_text(name: &str) {
    let name = Text::<40>::new(name);

    say!("mtrace_begin", "rdi": name.0.as_ptr())
}

/// The span that this thread began last ends.
#[inline]
pub fn end() {
    say!("mtrace_end")
}

/// A span that ends where this is dropped.
#[must_use = "the span ends at once"]
pub struct Span {
    /* It ends in the thread in which it began. */
    _thread: core::marker::PhantomData<*const u8>,
}

/// A span from here to the end of the block: `let _span = mtrace::span("request");`
#[inline]
pub fn span(name: &'static str) -> Span {
    begin(name);
    Span {
        _thread: core::marker::PhantomData,
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        end();
    }
}

/// A counter's value from now on.
#[inline]
pub fn number(name: &'static str, value: f64) {
    say!("mtrace_number_string", "rdi": name.as_ptr(), "rsi": value.to_bits(), "rdx": name.len())
}

/// The same, by a name that the program made.
#[inline]
pub fn number_text(name: &str, value: f64) {
    let name = Text::<40>::new(name);

    say!("mtrace_number_text", "rdi": name.0.as_ptr(), "rsi": value.to_bits())
}

/// A snapshot of what came before.
#[inline]
pub fn snapshot(reason: &str) {
    let reason = Text::<256>::new(reason);

    say!("mtrace_snapshot", "rdi": reason.0.as_ptr())
}

/* The beginning of a text, with a NUL behind it. */
struct Text<const SIZE: usize>([u8; SIZE]);

impl<const SIZE: usize> Text<SIZE> {
    #[inline]
    fn new(text: &str) -> Self {
        let mut bytes = [0; SIZE];
        let length = text.len().min(SIZE - 1);

        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Text(bytes)
    }
}

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
))]
macro_rules! define {
    ($($name:literal $number:literal)*) => {
        $(core::arch::global_asm!(
            concat!(".pushsection .text.", $name, ", \"ax\", @progbits"),
            concat!(".weak ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            concat!(".byte 0x0f, 0x1f, 0x44, 0, 0, 0x0f, 0x1f, 0x44, 0, ", $number),
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
        );)*

        core::arch::global_asm!(
            ".pushsection .note.mtrace, \"a\", @note",
            ".balign 4",
            ".long 7, 4, 1",
            ".asciz \"mtrace\"",
            ".balign 4",
            ".long 1",
            ".popsection",
        );
    };
}

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
))]
define!("mtrace_mark" 0 "mtrace_mark_string" 1 "mtrace_begin" 2 "mtrace_begin_string" 3 "mtrace_end" 4
        "mtrace_number_text" 5 "mtrace_number_string" 6 "mtrace_snapshot" 7);
