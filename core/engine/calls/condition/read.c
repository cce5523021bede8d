/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads of memory that may not be there.
 *
 * Which pages were there a moment ago stands in a table of the thread, by the lowest bits of their
 * numbers.  Another page is probed: rt_sigprocmask(2) with an invalid `how` reads the new mask
 * first, and then refuses, so the result says whether there is something to read; but an address of
 * 0 means "no mask".  A page is noted as the complement of its number, without bit 62, which the
 * word of trust takes away as well: a table of zeros notes none, and without trust none is found.
 *
 * Between its probe, or its note, and the read another thread may unmap the page.  That fault is
 * the tracer's to mend, who may be killed just then.  So notes are believed only where the first
 * MT_CONDITION_PROOFS probes found all that they asked for, and whoever unmaps all the time is
 * found by a probe before there is a fault: the first address that cannot be read, and is no null
 * pointer, has all later reads done by process_vm_readv(2), which cannot fault, from the thread's
 * own memory.  That costs some 500 ns.
 *
 * A filter of seccomp(2) may well kill for process_vm_readv(), and lets rt_sigprocmask() pass,
 * which signal handlers need.  So the one is for those alone whose reads failed, and not under a
 * filter that the tracer has seen. */
#include "engine/calls/condition/code.h"

#include <errno.h>
#include <sys/syscall.h>

#define NOTED_BIT     62
#define WILD_BIT      63
#define PAGE_SHIFT    12
#define PAGE_BYTES    4096u
#define NULL_BYTES    65536u /* nobody maps there: mmap_min_addr */
#define NO_SUCH_HOW   0x7fff
#define KERNELS_BYTES 8 /* of a signal mask */

/* In the frame, behind MT_CONDITION_PROBE_REGISTERS. */
#define ADDRESS_AT 0x30 /* struct iovec: what is to be read */
#define SIZE_AT    0x38
#define BUFFER_AT  0x40 /* struct iovec of itself: it has been read when it is written over */
#define BACK_AT    MT_ASM_BACK_AT

/* The place in the table, in bytes, is a number of pages times eight. */
#define PLACE_SHIFT 3
#define PLACE_MASK  ((MT_CONDITION_PAGES - 1) << PLACE_SHIFT)

/* [rcx+…] in a struct mt_condition_errors. */
#define IN_ERRORS(member) ((uint8_t)offsetof(struct mt_condition_errors, member))

/* ecx: the complement of a page's number; rdx: the address of its place. */
static void find_place(struct mt_asm *to)
{
	mt_asm(to, 0x8d, 0x14, 0xcd, 0, 0, 0, 0); /* lea edx, [rcx*8] */
	mt_asm(to, 0x81, 0xe2);                   /* and edx, … */
	mt_asm_imm32(to, PLACE_MASK);
	mt_asm(to, 0x65, 0x48, 0x03, 0x14, 0x25); /* add rdx, gs:[pages] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, pages));
}

void mt_asm_jump_unless_noted(struct mt_asm *to, struct mt_asm_label *label)
{
	mt_asm(to, 0x48, 0x89, 0xc1);             /* mov rcx, rax */
	mt_asm(to, 0x48, 0xc1, 0xe9, PAGE_SHIFT); /* shr rcx, 12 */
	mt_asm(to, 0x48, 0xf7, 0xd1);             /* not rcx */
	mt_asm(to, 0x48, 0xba);                   /* mov rdx, errors */
	mt_asm_imm64(to, to->place.errors);
	mt_asm(to, 0x48, 0x33, 0x4a, IN_ERRORS(trust)); /* xor rcx, [rdx+trust] */
	find_place(to);
	mt_asm(to, 0x48, 0x3b, 0x0a); /* cmp rcx, [rdx] */
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, label);
}

static void check(struct mt_asm *to, struct mt_asm_read *site)
{
	site->check = mt_asm_here(to);
	mt_asm_jump_unless_noted(to, &site->unknown);
	site->back = mt_asm_here(to);
}

/* The condition "the last byte lies in another page than the first". */
static void compare_pages(struct mt_asm *to, uint8_t size)
{
	mt_asm(to, 0x8d, 0x50, (uint8_t)(size - 1)); /* lea edx, [rax+size-1] */
	mt_asm(to, 0x31, 0xc2);                      /* xor edx, eax */
	mt_asm(to, 0x81, 0xe2);                      /* and edx, -4096 */
	mt_asm_imm32(to, 0u - PAGE_BYTES);
}

/* rax, from rax, with zeros above. */
static void load(struct mt_asm *to, uint8_t size)
{
	switch (size) {
	case 1:
		mt_asm(to, 0x0f, 0xb6, 0x00); /* movzx eax, byte [rax] */
		break;
	case 2:
		mt_asm(to, 0x0f, 0xb7, 0x00); /* movzx eax, word [rax] */
		break;
	case 4:
		mt_asm(to, 0x8b, 0x00); /* mov eax, [rax] */
		break;
	case 8:
		mt_asm(to, 0x48, 0x8b, 0x00); /* mov rax, [rax] */
		break;
	default:
		/* Of a bit field: no byte behind it is read. */
		mt_asm(to, 0x48, 0x89, 0xc2); /* mov rdx, rax */
		mt_asm(to, 0x31, 0xc0);       /* xor eax, eax */
		for (unsigned at = size; at-- > 0;) {
			mt_asm(to, 0x48, 0xc1, 0xe0, 0x08);        /* shl rax, 8 */
			mt_asm(to, 0x0f, 0xb6, 0x4a, (uint8_t)at); /* movzx ecx, byte [rdx+at] */
			mt_asm(to, 0x48, 0x09, 0xc8);              /* or rax, rcx */
		}
	}
}

void mt_asm_read(struct mt_asm *to, uint8_t size, bool trusted)
{
	struct mt_asm_read site = {.size = size};

	if (trusted) {
		load(to, size);
		return;
	}
	to->reads = true;
	if (size & (size - 1)) {
		compare_pages(to, size);
		mt_asm_jump(to, MT_ASM_NOT_EQUAL, &site.unknown);
	} else if (size > 1) {
		mt_asm(to, 0xa8, (uint8_t)(size - 1)); /* test al, size-1 */
		mt_asm_jump(to, MT_ASM_NOT_EQUAL, &site.crosses);
	}
	check(to, &site);
	load(to, size);
	if (mt_array_push(&to->read_sites, site))
		to->failed = true;
}

void mt_asm_save_registers(struct mt_asm *to)
{
	mt_asm(to, 0x48, 0x89, 0x3c, 0x24);       /* mov [rsp], rdi */
	mt_asm(to, 0x48, 0x89, 0x74, 0x24, 0x08); /* mov [rsp+8], rsi */
	mt_asm(to, 0x4c, 0x89, 0x44, 0x24, 0x10); /* mov [rsp+16], r8 */
	mt_asm(to, 0x4c, 0x89, 0x4c, 0x24, 0x18); /* mov [rsp+24], r9 */
	mt_asm(to, 0x4c, 0x89, 0x54, 0x24, 0x20); /* mov [rsp+32], r10 */
	mt_asm(to, 0x4c, 0x89, 0x5c, 0x24, 0x28); /* mov [rsp+40], r11 */
}

/* edx: the last byte's distance from the address in rax; rcx: where to go on. */
static void save_for_probe(struct mt_asm *to)
{
	mt_asm(to, 0x48, 0x89, 0x4c, 0x24, BACK_AT);    /* mov [rsp+BACK_AT], rcx */
	mt_asm(to, 0x48, 0x89, 0x44, 0x24, ADDRESS_AT); /* mov [rsp+ADDRESS_AT], rax */
	mt_asm(to, 0x48, 0x8d, 0x4a, 0x01);             /* lea rcx, [rdx+1] */
	mt_asm(to, 0x48, 0x89, 0x4c, 0x24, SIZE_AT);    /* mov [rsp+SIZE_AT], rcx */
	mt_asm_save_registers(to);
}

/* rcx: the condition's errors; rax: the address. */
static void restore_from_probe(struct mt_asm *to)
{
	mt_asm(to, 0x48, 0x8b, 0x3c, 0x24);             /* mov rdi, [rsp] */
	mt_asm(to, 0x48, 0x8b, 0x74, 0x24, 0x08);       /* mov rsi, [rsp+8] */
	mt_asm(to, 0x4c, 0x8b, 0x44, 0x24, 0x10);       /* mov r8, [rsp+16] */
	mt_asm(to, 0x4c, 0x8b, 0x4c, 0x24, 0x18);       /* mov r9, [rsp+24] */
	mt_asm(to, 0x4c, 0x8b, 0x54, 0x24, 0x20);       /* mov r10, [rsp+32] */
	mt_asm(to, 0x4c, 0x8b, 0x5c, 0x24, 0x28);       /* mov r11, [rsp+40] */
	mt_asm(to, 0x48, 0x8b, 0x44, 0x24, ADDRESS_AT); /* mov rax, [rsp+ADDRESS_AT] */
	mt_asm(to, 0x48, 0xb9);                         /* mov rcx, errors */
	mt_asm_imm64(to, to->place.errors);
}

static void jump_if_wild(struct mt_asm *to, struct mt_asm_label *wild)
{
	mt_asm(to, 0x48, 0xb9); /* mov rcx, errors */
	mt_asm_imm64(to, to->place.errors);
	mt_asm(to, 0x8b, 0x49, IN_ERRORS(trust) + 4); /* mov ecx, [rcx+trust+4] */
	mt_asm(to, 0x81, 0xe1);                       /* and ecx, … */
	mt_asm_imm32(to, (MT_CONDITION_WILD | MT_CONDITION_SANDBOXED) >> 32);
	mt_asm(to, 0x81, 0xf9); /* cmp ecx, … */
	mt_asm_imm32(to, MT_CONDITION_WILD >> 32);
	mt_asm_jump(to, MT_ASM_EQUAL, wild);
}

/* rsi: a page's address. */
static void probe(struct mt_asm *to, struct mt_asm_label *bad)
{
	mt_asm(to, 0x48, 0x81, 0xfe); /* cmp rsi, 4096 */
	mt_asm_imm32(to, PAGE_BYTES);
	mt_asm_jump(to, MT_ASM_BELOW, bad);
	mt_asm(to, 0xbf); /* mov edi, NO_SUCH_HOW */
	mt_asm_imm32(to, NO_SUCH_HOW);
	mt_asm(to, 0x31, 0xd2);                         /* xor edx, edx */
	mt_asm(to, 0x41, 0xba, KERNELS_BYTES, 0, 0, 0); /* mov r10d, 8 */
	mt_asm(to, 0xb8);                               /* mov eax, rt_sigprocmask */
	mt_asm_imm32(to, SYS_rt_sigprocmask);
	mt_asm(to, 0x0f, 0x05);                   /* syscall */
	mt_asm(to, 0x83, 0xf8, (uint8_t)-EINVAL); /* cmp eax, -EINVAL */
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, bad);
}

/* The page of the last byte, and then that of the first. */
static void probe_both(struct mt_asm *to, struct mt_asm_label *good, struct mt_asm_label *bad)
{
	mt_asm(to, 0x48, 0x8b, 0x74, 0x24, SIZE_AT);    /* mov rsi, [rsp+SIZE_AT] */
	mt_asm(to, 0x48, 0x03, 0x74, 0x24, ADDRESS_AT); /* add rsi, [rsp+ADDRESS_AT] */
	mt_asm(to, 0x48, 0xff, 0xce);                   /* dec rsi */
	mt_asm(to, 0x48, 0x81, 0xe6);                   /* and rsi, -4096 */
	mt_asm_imm32(to, 0u - PAGE_BYTES);
	uint32_t again = mt_asm_here(to);
	probe(to, bad);
	mt_asm(to, 0x48, 0x8b, 0x4c, 0x24, ADDRESS_AT); /* mov rcx, [rsp+ADDRESS_AT] */
	mt_asm(to, 0x48, 0x81, 0xe1);                   /* and rcx, -4096 */
	mt_asm_imm32(to, 0u - PAGE_BYTES);
	mt_asm(to, 0x48, 0x39, 0xce); /* cmp rsi, rcx */
	mt_asm_jump(to, MT_ASM_EQUAL, good);
	mt_asm(to, 0x48, 0x89, 0xce); /* mov rsi, rcx */
	mt_asm_jump_back(to, MT_ASM_ALWAYS, again);
}

/* By its own number, the thread reads its memory whatever process it is: vfork()'s child has its
 * parent's, and the first thread, by whose number the process goes, may have ended. */
static void let_system_read(struct mt_asm *to, struct mt_asm_label *read, struct mt_asm_label *bad)
{
	mt_asm(to, 0xb8, SYS_gettid, 0, 0, 0);          /* mov eax, gettid */
	mt_asm(to, 0x0f, 0x05);                         /* syscall */
	mt_asm(to, 0x89, 0xc7);                         /* mov edi, eax */
	mt_asm(to, 0x48, 0x8d, 0x74, 0x24, BUFFER_AT);  /* lea rsi, [rsp+BUFFER_AT] */
	mt_asm(to, 0x48, 0x89, 0x36);                   /* mov [rsi], rsi */
	mt_asm(to, 0x48, 0x8b, 0x54, 0x24, SIZE_AT);    /* mov rdx, [rsp+SIZE_AT] */
	mt_asm(to, 0x48, 0x89, 0x56, 0x08);             /* mov [rsi+8], rdx */
	mt_asm(to, 0xba, 1, 0, 0, 0);                   /* mov edx, 1 */
	mt_asm(to, 0x4c, 0x8d, 0x54, 0x24, ADDRESS_AT); /* lea r10, [rsp+ADDRESS_AT] */
	mt_asm(to, 0x41, 0x89, 0xd0);                   /* mov r8d, edx */
	mt_asm(to, 0x45, 0x31, 0xc9);                   /* xor r9d, r9d */
	mt_asm(to, 0xb8);                               /* mov eax, process_vm_readv */
	mt_asm_imm32(to, SYS_process_vm_readv);
	mt_asm(to, 0x0f, 0x05);                      /* syscall */
	mt_asm(to, 0x48, 0x3b, 0x44, 0x24, SIZE_AT); /* cmp rax, [rsp+SIZE_AT] */
	mt_asm_jump(to, MT_ASM_EQUAL, read);
	mt_asm(to, 0x83, 0xf8, (uint8_t)-EFAULT); /* cmp eax, -EFAULT */
	mt_asm_jump(to, MT_ASM_EQUAL, bad);
}

static void count_bad(struct mt_asm *to)
{
	mt_asm(to, 0x48, 0x89, 0x41, IN_ERRORS(address)); /* mov [rcx+address], rax */
	mt_asm(to, 0xf0, 0xff, 0x01);                     /* lock inc dword [rcx] */
	mt_asm(to, 0x48, 0x3d);                           /* cmp rax, 65536 */
	mt_asm_imm32(to, NULL_BYTES);
	mt_asm_jump(to, MT_ASM_BELOW, &to->miss);
	/* lock bts qword [rcx+trust], 63 */
	mt_asm(to, 0xf0, 0x48, 0x0f, 0xba, 0x69, IN_ERRORS(trust), WILD_BIT);
	mt_asm_jump(to, MT_ASM_ALWAYS, &to->miss);
}

static void note_page(struct mt_asm *to)
{
	struct mt_asm_label is_noted = {0};

	mt_asm(to, 0xba, 1, 0, 0, 0);                          /* mov edx, 1 */
	mt_asm(to, 0xf0, 0x0f, 0xc1, 0x51, IN_ERRORS(proved)); /* lock xadd [rcx+proved], edx */
	mt_asm(to, 0x81, 0xfa);                                /* cmp edx, … */
	mt_asm_imm32(to, MT_CONDITION_PROOFS - 1);
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, &is_noted);
	/* lock bts qword [rcx+trust], 62 */
	mt_asm(to, 0xf0, 0x48, 0x0f, 0xba, 0x69, IN_ERRORS(trust), NOTED_BIT);
	mt_asm_bind(to, &is_noted);
	mt_asm(to, 0x48, 0x89, 0xc1);             /* mov rcx, rax */
	mt_asm(to, 0x48, 0xc1, 0xe9, PAGE_SHIFT); /* shr rcx, 12 */
	mt_asm(to, 0x48, 0xf7, 0xd1);             /* not rcx */
	find_place(to);
	mt_asm(to, 0x48, 0x0f, 0xba, 0xf1, NOTED_BIT); /* btr rcx, 62 */
	mt_asm(to, 0x48, 0x89, 0x0a);                  /* mov [rdx], rcx */
}

/* rax: an address; edx: the last byte's distance; rcx: where to go on, with rax as it is, or as the
 * address of a copy. */
static void probe_pages(struct mt_asm *to)
{
	struct mt_asm_label bad = {0}, good = {0}, wild = {0}, read = {0};

	save_for_probe(to);
	to->out->probe_begin = mt_asm_here(to);
	jump_if_wild(to, &wild);
	uint32_t ask = mt_asm_here(to);
	probe_both(to, &good, &bad);
	mt_asm_bind(to, &wild);
	let_system_read(to, &read, &bad);
	/* Part of it, or the system refuses to: one that was built without this call. */
	mt_asm_jump_back(to, MT_ASM_ALWAYS, ask);
	mt_asm_bind(to, &read);
	restore_from_probe(to);
	mt_asm(to, 0x48, 0x8d, 0x44, 0x24, BUFFER_AT); /* lea rax, [rsp+BUFFER_AT] */
	mt_asm(to, 0xff, 0x64, 0x24, BACK_AT);         /* jmp [rsp+BACK_AT] */
	mt_asm_bind(to, &bad);
	restore_from_probe(to);
	count_bad(to);
	mt_asm_bind(to, &good);
	restore_from_probe(to);
	note_page(to);
	mt_asm(to, 0xff, 0x64, 0x24, BACK_AT); /* jmp [rsp+BACK_AT] */
	to->out->probe_end = mt_asm_here(to);
}

void mt_asm_read_out_of_line(struct mt_asm *to)
{
	struct mt_asm_label shared = {0};

	mt_array_each (site, &to->read_sites) {
		if (site->crosses.jumps.count) {
			mt_asm_bind(to, &site->crosses);
			compare_pages(to, site->size);
			mt_asm_jump_back(to, MT_ASM_EQUAL, site->check);
		}
		mt_asm_bind(to, &site->unknown);
		mt_asm(to, 0xba); /* mov edx, size-1 */
		mt_asm_imm32(to, site->size - 1u);
		mt_asm(to, 0x48, 0x8d, 0x0d); /* lea rcx, [rip+…]: back */
		mt_asm_imm32(to, site->back - (mt_asm_here(to) + 4));
		mt_asm_jump(to, MT_ASM_ALWAYS, &shared);
	}
	if (!to->read_sites.count)
		return;
	mt_asm_bind(to, &shared);
	probe_pages(to);
	mt_array_deinit(&to->read_sites);
}
