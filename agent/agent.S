/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goes into a program that the `calls` engine records: two words in each thread's static
 * thread-local storage (struct mt_ring_position), and a word in which the dynamic loader leaves
 * their offset from fs.  The tracer fills the words, of the template too, from which the loader
 * makes the storage of new threads.  Nobody calls the code: it is there so that the linker makes
 * the word, which the tracer finds by its relocation.
 *
 * Source: ELF Handling For Thread-Local Storage, R_X86_64_TPOFF64. */
	.section .tdata, "awT", @progbits
	.balign	16
	.globl	mt_agent_position
	.type	mt_agent_position, @object
	.size	mt_agent_position, 16
mt_agent_position:
	.quad	0, 0

	.text
	.globl	mt_agent_offset
	.type	mt_agent_offset, @function
mt_agent_offset:
	movq	mt_agent_position@gottpoff(%rip), %rax
	ret
	.size	mt_agent_offset, . - mt_agent_offset

	.section .note.GNU-stack, "", @progbits
