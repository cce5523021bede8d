/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads of memory that may not be there.
 *
 * Which pages were there a moment ago stands in the thread's slot, by the lowest bits of their
 * numbers.  Another page is probed: rt_sigprocmask(2) with an invalid `how` reads the new mask
 * first, and then refuses, so the result says whether there is something to read; but an address of
 * 0 means "no mask".  A noted page has bit 62 set, so that a slot of zeros notes none; the word in
 * front of the code has it too, or the one of MT_CONDITION_DISTRUST instead, which no noted page
 * has. */
#include "engine/calls/condition/code.h"

#include <errno.h>
#include <sys/syscall.h>

#define NOTED_BIT     62
#define PAGE_SHIFT    12
#define PAGE_BYTES    4096u
#define ADDRESS_AT    0x20 /* in the frame */
#define BACK_AT       0x28
#define NO_SUCH_HOW   0x7fff
#define KERNELS_BYTES 8 /* of a signal mask */

/* Where the page of the address in rax is noted: gs:[rdx*8+…]; and rcx: as what. */
static void find_note(struct mt_asm *to)
{
	mt_asm(to, 0x48, 0x89, 0xc1);              /* mov rcx, rax */
	mt_asm(to, 0x48, 0xc1, 0xe9, PAGE_SHIFT);  /* shr rcx, 12 */
	mt_asm(to, 0x89, 0xca);                    /* mov edx, ecx */
	mt_asm(to, 0x83, 0xe2, MT_RING_PAGES - 1); /* and edx, 7 */
}

static void check(struct mt_asm *to, struct mt_asm_read *site)
{
	site->check = mt_asm_here(to);
	find_note(to);
	mt_asm(to, 0x48, 0x0b, 0x0d); /* or rcx, [rip+…]: the word in front */
	mt_asm_imm32(to, 0u - (mt_asm_here(to) + 4));
	mt_asm(to, 0x65, 0x48, 0x3b, 0x0c, 0xd5); /* cmp rcx, gs:[rdx*8+pages] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, pages));
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, &site->unknown);
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

static void save_for_probe(struct mt_asm *to)
{
	mt_asm(to, 0x48, 0x89, 0x4c, 0x24, BACK_AT);    /* mov [rsp+BACK_AT], rcx */
	mt_asm(to, 0x48, 0x89, 0x44, 0x24, ADDRESS_AT); /* mov [rsp+ADDRESS_AT], rax */
	mt_asm(to, 0x48, 0x89, 0x3c, 0x24);             /* mov [rsp], rdi */
	mt_asm(to, 0x48, 0x89, 0x74, 0x24, 0x08);       /* mov [rsp+8], rsi */
	mt_asm(to, 0x4c, 0x89, 0x54, 0x24, 0x10);       /* mov [rsp+16], r10 */
	mt_asm(to, 0x4c, 0x89, 0x5c, 0x24, 0x18);       /* mov [rsp+24], r11 */
}

/* And rax: the address. */
static void restore_from_probe(struct mt_asm *to)
{
	mt_asm(to, 0x48, 0x8b, 0x3c, 0x24);             /* mov rdi, [rsp] */
	mt_asm(to, 0x48, 0x8b, 0x74, 0x24, 0x08);       /* mov rsi, [rsp+8] */
	mt_asm(to, 0x4c, 0x8b, 0x54, 0x24, 0x10);       /* mov r10, [rsp+16] */
	mt_asm(to, 0x4c, 0x8b, 0x5c, 0x24, 0x18);       /* mov r11, [rsp+24] */
	mt_asm(to, 0x48, 0x8b, 0x44, 0x24, ADDRESS_AT); /* mov rax, [rsp+ADDRESS_AT] */
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

/* rax: an address; edx: the last byte's distance; rcx: where to go on. */
static void probe_pages(struct mt_asm *to)
{
	struct mt_asm_label bad = {0}, good = {0};

	save_for_probe(to);
	to->out->probe_begin = mt_asm_here(to);
	mt_asm(to, 0x48, 0x8d, 0x34, 0x10); /* lea rsi, [rax+rdx] */
	mt_asm(to, 0x48, 0x81, 0xe6);       /* and rsi, -4096 */
	mt_asm_imm32(to, 0u - PAGE_BYTES);
	uint32_t again = mt_asm_here(to);
	probe(to, &bad);
	mt_asm(to, 0x48, 0x8b, 0x4c, 0x24, ADDRESS_AT); /* mov rcx, [rsp+ADDRESS_AT] */
	mt_asm(to, 0x48, 0x81, 0xe1);                   /* and rcx, -4096 */
	mt_asm_imm32(to, 0u - PAGE_BYTES);
	mt_asm(to, 0x48, 0x39, 0xce); /* cmp rsi, rcx */
	mt_asm_jump(to, MT_ASM_EQUAL, &good);
	mt_asm(to, 0x48, 0x89, 0xce); /* mov rsi, rcx */
	mt_asm_jump_back(to, MT_ASM_ALWAYS, again);
	mt_asm_bind(to, &bad);
	restore_from_probe(to);
	to->out->probe_end = mt_asm_here(to);
	mt_asm(to, 0x48, 0xb9); /* mov rcx, errors */
	mt_asm_imm64(to, to->place.errors);
	/* mov [rcx+…], rax */
	mt_asm(to, 0x48, 0x89, 0x41, offsetof(struct mt_condition_errors, address));
	mt_asm(to, 0xf0, 0xff, 0x01); /* lock inc dword [rcx] */
	mt_asm_jump(to, MT_ASM_ALWAYS, &to->miss);
	mt_asm_bind(to, &good);
	restore_from_probe(to);
	find_note(to);
	mt_asm(to, 0x48, 0x0f, 0xba, 0xe9, NOTED_BIT); /* bts rcx, 62 */
	mt_asm(to, 0x65, 0x48, 0x89, 0x0c, 0xd5);      /* mov gs:[rdx*8+pages], rcx */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, pages));
	mt_asm(to, 0xff, 0x64, 0x24, BACK_AT); /* jmp [rsp+BACK_AT] */
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
