/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that lies in no file: the running kernel's, and the vDSO.  Both are this machine's, and so
 * of use only for a recording that was made on the kernel that runs now. */
#ifndef MT_DECODE_KERNEL_CODE_H
#define MT_DECODE_KERNEL_CODE_H

#include "pt/decoder.h"
#include "space/space.h"

/* True if OS_RELEASE (of a recording; NULL is never the same) is the running kernel's. */
bool mt_kernel_is_running(const char *os_release);

/* Add what KCORE ("/proc/kcore", or the copy that `perf record --kcore` made) holds of the
 * kernel's mappings to an image.  Errors: as opening; FORMAT; NO_MEMORY. */
struct mt_error *mt_kernel_code_add(struct mt_pt_image *image, const char *kcore,
				    const struct mt_space *kernel);

/* This process's own vDSO: the object file, and a temporary file that holds its bytes, which the
 * caller unlinks and frees.  Errors: NOT_FOUND (there is none); SYSTEM; NO_MEMORY. */
struct mt_error *mt_vdso_open(struct mt_objfile **objfile, char **path);

#endif
