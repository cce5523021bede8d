/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/private.h"

#include "base/installed.h"
#include "elf/file.h"
#include "elf/section.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define AGENT_NAME "libmtrace-agent.so"

static bool find_template(Elf *elf, uint64_t *address)
{
	size_t count = 0;
	GElf_Phdr header;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_TLS ||
		    header.p_filesz < sizeof(struct mt_ring_position))
			continue;
		*address = header.p_vaddr;
		return true;
	}
	return false;
}

static bool find_offset_word(Elf *elf, uint64_t *address)
{
	struct mt_section relocations;
	GElf_Rela one;

	if (!mt_section_find_type(elf, SHT_RELA, &relocations))
		return false;
	for (int i = 0; gelf_getrela(relocations.data, i, &one); i++) {
		if (GELF_R_TYPE(one.r_info) != R_X86_64_TPOFF64)
			continue;
		*address = one.r_offset;
		return true;
	}
	return false;
}

static uint64_t look_up(Elf *elf, const char *name)
{
	struct mt_section symbols;
	GElf_Sym symbol;

	if (!mt_section_find_type(elf, SHT_DYNSYM, &symbols))
		return 0;
	for (int i = 0; gelf_getsym(symbols.data, i, &symbol); i++) {
		const char *its = elf_strptr(elf, symbols.header.sh_link, symbol.st_name);

		if (its && symbol.st_shndx != SHN_UNDEF && strcmp(its, name) == 0)
			return symbol.st_value;
	}
	return 0;
}

static bool find_symbols(Elf *elf, struct mt_calls_agent *agent)
{
	agent->list = look_up(elf, "mt_agent_list");
	agent->entries = look_up(elf, "mt_agent_entries");
	agent->find_object = look_up(elf, "mt_agent_find_object");
	agent->rest = look_up(elf, "mt_agent_rest");
	return agent->list && agent->entries && agent->find_object && agent->rest;
}

struct mt_error *mt_calls_agent_find(struct mt_calls_agent *agent)
{
	struct mt_elf_file file = {0};

	agent->path = mt_installed_find(AGENT_NAME);
	if (!agent->path && errno == EACCES)
		return mt_error_new(MT_ERROR_PERMISSION, AGENT_NAME
				    " beside mtdb cannot be read by this user: permission "
				    "denied (install mtdb where all users may read it)");
	if (!agent->path)
		return mt_error_new(
		    MT_ERROR_NOT_FOUND, AGENT_NAME
		    " is missing beside mtdb and in ../lib: run \"make\" or \"make install\"");
	struct mt_error *error = mt_elf_file_open(agent->path, &file);
	if (!error &&
	    (!find_template(file.elf, &agent->template) ||
	     !find_offset_word(file.elf, &agent->offset_word) || !find_symbols(file.elf, agent)))
		error =
		    mt_error_new(MT_ERROR_FORMAT, "%s is not the agent of this build", agent->path);
	mt_elf_file_close(&file);
	return error;
}

void mt_calls_agent_deinit(struct mt_calls_agent *agent)
{
	free(agent->path);
	agent->path = NULL;
}

uint64_t mt_calls_dynamic_symbol(const char *path, const char *name)
{
	struct mt_elf_file file = {0};
	uint64_t value = 0;
	struct mt_error *error = mt_elf_file_open(path, &file);

	if (!error)
		value = look_up(file.elf, name);
	mt_error_destroy(error);
	mt_elf_file_close(&file);
	return value;
}
