/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dynamic loader's list of libraries, and thread-local storage, which is found through it. */
#ifndef MT_VALUES_LIBRARIES_H
#define MT_VALUES_LIBRARIES_H

#include "values/value.h"

#define MT_MOST_LIBRARIES 10000
/* Where the dynamic loader's list of what is loaded begins: struct link_map.  False: not known. */
bool mt_loader_list(struct mt_eval *eval, uint64_t *list);
enum mt_loader_state {
	MT_LOADER_UNKNOWN, /* it tells debuggers nothing */
	MT_LOADER_AT_WORK, /* or it has not begun */
	MT_LOADER_DONE,    /* the program, with its libraries, or what dlopen() brought */
};
enum mt_loader_state mt_loader_state(struct mt_eval *eval);
struct mt_error *mt_tls_address(struct mt_eval *eval, struct mt_module *module, uint64_t offset,
				uint64_t *address);

/* Of the program itself: so many bytes below the thread's pointer, the FS base (variant II). False:
 * MODULE is a library, or has none. */
bool mt_tls_of_program(struct mt_module *module, uint64_t *below);

/* How a library's is found in a thread. */
struct mt_tls_library {
	bool is_static; /* so many bytes below the thread's pointer */
	uint64_t below;
	/* Else by the thread's vector, to which the word behind the thread's first one leads: entry
	 * `number`, as long as it has so many, unless it is 0 or all ones: not allocated yet. */
	uint64_t number;
	unsigned entry_bytes;
	unsigned count_before; /* so many bytes in front of the vector stands its last number */
};
/* MODULE, which the loader has loaded, is a library.  False: it has none, or this C library keeps
 * it in some other way. */
bool mt_tls_of_library(struct mt_eval *eval, struct mt_module *module, struct mt_tls_library *out);

/* The executable itself, and no library. */
bool mt_module_is_program(struct mt_module *module);

/* A library as the dynamic loader knows it. */
struct mt_expr_library {
	const char *name; /* until the callback returns */
	struct mt_objfile *objfile;
	uint64_t start, end; /* of its section .text */
};
/* Calls FOUND for each, in the loader's order, until it returns false.  False: there is no list, or
 * it cannot be read. */
bool mt_expr_each_library(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			  bool (*found)(void *context, const struct mt_expr_library *library),
			  void *context);
/* The name of the file that an address is of: the loader's, else the kernel's. */
void mt_expr_file_at(struct mt_expr_program *program, const struct mt_expr_frame *frame,
		     uint64_t address, struct mt_str *out);

#endif
