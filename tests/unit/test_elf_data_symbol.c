/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables by their names, wherever these lie in a table of names that is read in pieces. */
#include "elf/data_symbol.h"
#include "elf/objfile_private.h"
#include "unit.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME    "the_variable"
#define PIECE   65536
#define NAMES   (3 * PIECE)
#define ADDRESS 0x4000

enum { NONE, SYMBOLS, STRINGS, SECTIONS };

static struct {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[2];
	char names[NAMES];
} file;

/* A file whose one variable has its name AT that place, behind PREFIX. */
static struct mt_objfile *open_with_name(size_t at, const char *prefix)
{
	char path[] = "/tmp/mtrace-symbol-XXXXXX";
	struct mt_objfile *objfile = NULL;
	const int fd = mkstemp(path);

	file.header = (Elf64_Ehdr){
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_DYN,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_shoff = sizeof(file.header),
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = SECTIONS,
	};
	file.sections[SYMBOLS] = (Elf64_Shdr){
	    .sh_type = SHT_SYMTAB,
	    .sh_offset = (uint64_t)((char *)file.symbols - (char *)&file),
	    .sh_size = sizeof(file.symbols),
	    .sh_link = STRINGS,
	    .sh_info = 1,
	    .sh_entsize = sizeof(Elf64_Sym),
	};
	file.sections[STRINGS] = (Elf64_Shdr){
	    .sh_type = SHT_STRTAB,
	    .sh_offset = (uint64_t)(file.names - (char *)&file),
	    .sh_size = sizeof(file.names),
	};
	memset(file.names, 't', sizeof(file.names));
	file.names[0] = file.names[NAMES - 1] = 0;
	memcpy(file.names + at - strlen(prefix), prefix, strlen(prefix));
	memcpy(file.names + at, NAME, sizeof(NAME));
	file.symbols[1] = (Elf64_Sym){
	    .st_name = (uint32_t)at,
	    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
	    .st_shndx = SHN_ABS,
	    .st_value = ADDRESS,
	    .st_size = 8,
	};
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	close(fd);
	assert_no_error(mt_objfile_open(path, NULL, NULL, &objfile));
	unlink(path);
	return objfile;
}

static void expect_at(size_t at, const char *prefix)
{
	struct mt_objfile *objfile = open_with_name(at, prefix);
	struct mt_data_symbol symbol = {0};

	if (!mt_objfile_find_data_symbol(objfile, NAME, &symbol))
		fail_msg("not found at %zu", at);
	assert_int_equal(symbol.address, ADDRESS);
	assert_int_equal(symbol.size, 8);
	assert_false(mt_objfile_find_data_symbol(objfile, "another_variable", &symbol));
	assert_false(mt_objfile_find_data_symbol(objfile, NAME "s", &symbol));
	assert_int_equal(mt_objfile_find_function_symbol(objfile, NAME), 0);
	mt_objfile_unref(objfile);
}

static void a_name_is_found_wherever_it_lies(void **state)
{
	(void)state;
	expect_at(1, "");
	expect_at(NAMES - sizeof(NAME), "");
	for (size_t i = 0; i < 2 * sizeof(NAME); i++) {
		expect_at(PIECE - 2 * sizeof(NAME) + i, "");
		/* The second piece begins with what may be a part of a name. */
		expect_at(2 * PIECE - 3 * sizeof(NAME) + i, "");
	}
}

/* Linkers keep a name that is the end of another one there. */
static void a_name_may_be_the_end_of_another(void **state)
{
	(void)state;
	expect_at(PIECE, "not_");
	expect_at(100, "not_");
}

/* What a file was asked for once is known: its names can be gone by then. */
static void a_name_is_sought_once(void **state)
{
	struct mt_objfile *objfile = open_with_name(100, "");
	struct mt_data_symbol first = {0}, again = {0};

	(void)state;
	assert_true(mt_objfile_find_data_symbol(objfile, NAME, &first));
	assert_false(mt_objfile_find_data_symbol(objfile, "another_variable", &again));
	assert_int_equal(mt_objfile_find_function_symbol(objfile, NAME), 0);
	mt_elf_file_close(&objfile->main);
	assert_true(mt_objfile_find_data_symbol(objfile, NAME, &again));
	assert_int_equal(again.address, first.address);
	assert_int_equal(again.size, first.size);
	assert_int_equal(again.thread_local, first.thread_local);
	assert_false(mt_objfile_find_data_symbol(objfile, "another_variable", &again));
	assert_int_equal(mt_objfile_find_function_symbol(objfile, NAME), 0);
	mt_objfile_unref(objfile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_name_is_found_wherever_it_lies),
	    cmocka_unit_test(a_name_may_be_the_end_of_another),
	    cmocka_unit_test(a_name_is_sought_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
