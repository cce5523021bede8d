/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the engine `calls` that is loaded into the program: two words in each thread's static
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

/* The list of what was generated, as GDB reads it by its JIT interface, from a core file too.  GDB
 * looks for the two names in each object file's .symtab; hidden ones are in nobody's way that
 * generates code itself.  The tracer, which alone changes the list, knows them by other names.
 *
 * Source: GDB manual, "JIT Compilation Interface". */
	.globl	__jit_debug_register_code, mt_agent_list_changed
	.hidden	__jit_debug_register_code
	.type	__jit_debug_register_code, @function
	.type	mt_agent_list_changed, @function
__jit_debug_register_code:
mt_agent_list_changed:
	ret
	.size	__jit_debug_register_code, . - __jit_debug_register_code
	.size	mt_agent_list_changed, . - mt_agent_list_changed

	.data
	.balign	8
	.globl	__jit_debug_descriptor, mt_agent_list
	.hidden	__jit_debug_descriptor
	.type	__jit_debug_descriptor, @object
	.type	mt_agent_list, @object
__jit_debug_descriptor:
mt_agent_list:
	.long	1, 0	/* version, action */
	.quad	0, 0	/* the entry that changed, the first one */
	.size	__jit_debug_descriptor, . - __jit_debug_descriptor
	.size	mt_agent_list, . - mt_agent_list

/* Entries stay where they are when a library goes: somebody may be on a walk over them. */
#define ENTRIES     1024
#define ENTRY_BYTES 96 /* struct mt_calls_entry */
	.bss
	.balign	8
	.globl	mt_agent_entries
	.type	mt_agent_entries, @object
	.size	mt_agent_entries, ENTRIES * ENTRY_BYTES
mt_agent_entries:
	.skip	ENTRIES * ENTRY_BYTES

#define NEXT         0
#define CODE         32
#define CODE_BYTES   40
#define MODULE       48
#define MODULE_BYTES 56
#define SEARCH_TABLE 64
#define OBJECT       72
#define HOLES        80
#define HOLE_COUNT   88

/* Of struct dl_find_object, dlfcn.h. */
#define RESULT_FLAGS     0
#define RESULT_START     8
#define RESULT_END       16
#define RESULT_OBJECT    24
#define RESULT_EH_FRAME  32

/* Before the loader's _dl_find_object(rdi: address, rsi: result), to which mt_agent_rest leads:
 * which object an address is of that an unwinder met.  It knows trampolines, and the long jumps of
 * short ones.  Neither lock nor memory is taken, so it can be asked in a signal handler. */
	.data
	.globl	mt_agent_rest
	.type	mt_agent_rest, @object
	.size	mt_agent_rest, 8
mt_agent_rest:
.Lrest_word:
	.quad	0

	.text
	.globl	mt_agent_find_object
	.type	mt_agent_find_object, @function
mt_agent_find_object:
	.cfi_startproc
	movq	__jit_debug_descriptor+16(%rip), %rcx
.Lentry:
	testq	%rcx, %rcx
	jz	.Lrest
	movq	%rdi, %rdx
	subq	CODE(%rcx), %rdx
	cmpq	CODE_BYTES(%rcx), %rdx
	jb	.Lfound
	movq	%rdi, %rdx
	subq	MODULE(%rcx), %rdx
	cmpq	MODULE_BYTES(%rcx), %rdx
	jae	.Lnext
	movq	HOLES(%rcx), %r8
	movq	HOLE_COUNT(%rcx), %r9
.Lhalve:
	testq	%r9, %r9
	jz	.Lrest
	movq	%r9, %r10
	shrq	%r10
	cmpq	%rdi, (%r8, %r10, 8)
	je	.Lfound
	ja	.Llower
	leaq	8(%r8, %r10, 8), %r8
	notq	%r10
	addq	%r10, %r9
	jmp	.Lhalve
.Llower:
	movq	%r10, %r9
	jmp	.Lhalve
.Lnext:
	movq	NEXT(%rcx), %rcx
	jmp	.Lentry
.Lrest:
	jmp	*.Lrest_word(%rip)
.Lfound:
	movq	$0, RESULT_FLAGS(%rsi)
	movq	CODE(%rcx), %rax
	movq	%rax, RESULT_START(%rsi)
	addq	CODE_BYTES(%rcx), %rax
	movq	%rax, RESULT_END(%rsi)
	movq	OBJECT(%rcx), %rax
	movq	%rax, RESULT_OBJECT(%rsi)
	movq	SEARCH_TABLE(%rcx), %rax
	movq	%rax, RESULT_EH_FRAME(%rsi)
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	mt_agent_find_object, . - mt_agent_find_object

	.section .note.GNU-stack, "", @progbits
