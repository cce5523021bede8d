/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An output file that is whole or not there: what is written goes to a temporary file next to the
 * final name, which takes that name only when it is committed.
 *
 * What cannot be replaced is written straight away: standard output ("-") and whatever exists and
 * is no regular file (/dev/null, a FIFO).  A symbolic link stays one: the file behind it is
 * replaced, and keeps its mode and its owner.  But no link of another user's is followed, root's
 * apart, and in a sticky directory that all may write to nothing of another user's is touched.
 * After a crash of our own the temporary file, PATH.HEX.tmp, is left with what was written. */
#ifndef MT_BASE_OUTFILE_H
#define MT_BASE_OUTFILE_H

#include "base/error.h"

struct mt_outfile;

/* PATH NULL: a file without a name, in $TMPDIR or /tmp, for mt_outfile_dup().
 * Errors: as creating a file, at once (no such directory, not writable, a directory, another
 * user's); NO_MEMORY. */
struct mt_error *mt_outfile_create(const char *path, struct mt_outfile **out);
/* A file beside PATH, PATH.HEX.ENDING, that has no other name: mt_outfile_destroy() takes it away,
 * committed or not, unless it is kept.  Where PATH is no file to be replaced ("-", a device): a
 * file without a name, as above.  Errors: as above. */
struct mt_error *mt_outfile_create_beside(const char *path, const char *ending,
					  struct mt_outfile **out);
/* From now on the temporary file stays, whatever ends us; or, dropped, does not any more. */
void mt_outfile_keep(struct mt_outfile *file);
void mt_outfile_drop(struct mt_outfile *file);
/* Takes the temporary file away if it was not committed, and is not kept.  NULL is fine. */
void mt_outfile_destroy(struct mt_outfile *file);
/* Removes the temporary files of all that are not committed, as a signal ends the process.  Safe in
 * a signal's handler: signal-safety(7). */
void mt_outfile_remove_unfinished(void);

/* Append; buffered.  After a failure every later call, commit too, fails in the same way.
 * Errors: SYSTEM (a full disk, a closed pipe). */
struct mt_error *mt_outfile_write(struct mt_outfile *file, const void *bytes, size_t size);
/* Bytes appended so far. */
uint64_t mt_outfile_position(const struct mt_outfile *file);
/* What its file system has left, for us.  Errors: SYSTEM. */
struct mt_error *mt_outfile_free_bytes(const struct mt_outfile *file, uint64_t *free_bytes);

/* False: straight to a pipe, a device, standard output; pwrite() is not to be had. */
bool mt_outfile_is_seekable(const struct mt_outfile *file);
/* A regular file whose system writes without asking anyone: such a write does not hang, as one in
 * NFS or FUSE may, so that nobody has to interrupt it. */
bool mt_outfile_is_local(const struct mt_outfile *file);
/* Overwrite what was appended before: [offset, offset+size) must lie below the position.
 * Errors: SYSTEM; UNSUPPORTED (not seekable). */
struct mt_error *mt_outfile_pwrite(struct mt_outfile *file, const void *bytes, size_t size,
				   uint64_t offset);

/* Hand all that is buffered to the system.  Errors: SYSTEM. */
struct mt_error *mt_outfile_flush(struct mt_outfile *file);
/* Flush, close and give the file its name; once, and nothing is written afterwards.
 * Errors: SYSTEM; the temporary file is then taken away. */
struct mt_error *mt_outfile_commit(struct mt_outfile *file);

/* A new descriptor of the file, for reading; the caller closes it.  Before and after commit, also
 * where there is no name.  Errors: as opening; UNSUPPORTED (not seekable). */
struct mt_error *mt_outfile_dup(struct mt_outfile *file, int *fd);

/* A write to it has failed. */
bool mt_outfile_has_failed(const struct mt_outfile *file);
/* Where it lies now, under a temporary name or its own.  NULL: it has none.  Lent. */
const char *mt_outfile_place(const struct mt_outfile *file);
/* The name for messages: lent. */
const char *mt_outfile_path(const struct mt_outfile *file);

#endif
