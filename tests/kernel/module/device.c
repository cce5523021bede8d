// SPDX-License-Identifier: GPL-3.0-or-later OR GPL-2.0-only
/* /dev/mtrace_test_pt.
 * write(2): a struct pt_stream, which the tracing hardware of this CPU puts out now.  It always
 * takes all of it, since no program learns whether it is traced. ioctl(2) PT_FLAG: mark the
 * transaction under way, as an error of the hardware would. read(2): a line on the event that
 * traces on this CPU, for tests: its config and its filters. */
#include "pt.h"

#include <asm/msr.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#define GREATEST_WRITE (4u << 20)
#define GREATEST_TICKS 100000000 /* some 40 ms, during which interrupts wait */
#define PT_FLAG        _IO('p', 1)
#define TSC_BYTES      7

/* A trace with the places where it tells the time: the payloads of its TSC packets. */
struct pt_stream {
	u64 ticks; /* from the first packet to the last */
	u64 tsc_count;
	u64 size;
	u32 tsc_at[]; /* ascending; the trace follows */
};

static u8 *trace_of(struct pt_stream *stream)
{
	return (u8 *)&stream->tsc_at[stream->tsc_count];
}

static bool stream_is_valid(struct pt_stream *stream, size_t size)
{
	if (size < sizeof(*stream) || stream->ticks > GREATEST_TICKS ||
	    stream->tsc_count > size / sizeof(u32) || stream->size > size)
		return false;
	if (size != struct_size(stream, tsc_at, stream->tsc_count) + stream->size)
		return false;
	for (u64 i = 0; i < stream->tsc_count; i++) {
		if (stream->tsc_at[i] + (u64)TSC_BYTES > stream->size)
			return false;
	}
	return true;
}

static void add_to_tsc(u8 *payload, u64 ticks)
{
	u64 tsc = 0;

	memcpy(&tsc, payload, TSC_BYTES);
	tsc += ticks;
	memcpy(payload, &tsc, TSC_BYTES);
}

/* The trace takes its time, on this CPU and with nobody between: it began when we began. */
static void take_time(struct pt_stream *stream)
{
	u64 begin = rdtsc_ordered(), first = 0;

	if (stream->tsc_count)
		memcpy(&first, trace_of(stream) + stream->tsc_at[0], TSC_BYTES);
	for (u64 i = 0; i < stream->tsc_count; i++)
		add_to_tsc(trace_of(stream) + stream->tsc_at[i], begin - first);
	while (rdtsc_ordered() - begin <= stream->ticks)
		cpu_relax();
}

static ssize_t pt_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct pt_stream *stream;
	unsigned long flags;

	if (size > GREATEST_WRITE)
		return -E2BIG;
	stream = vmemdup_user(from, size);
	if (IS_ERR(stream))
		return PTR_ERR(stream);
	if (!stream_is_valid(stream, size)) {
		kvfree(stream);
		return -EINVAL;
	}
	local_irq_save(flags);
	take_time(stream);
	pt_output(this_cpu_ptr(&pt_cpus), trace_of(stream), stream->size);
	local_irq_restore(flags);
	kvfree(stream);
	return size;
}

static long pt_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct pt_cpu *cpu;
	unsigned long flags;

	if (command != PT_FLAG)
		return -ENOTTY;
	local_irq_save(flags);
	cpu = this_cpu_ptr(&pt_cpus);
	if (cpu->handle.event)
		perf_aux_output_flag(&cpu->handle, argument);
	local_irq_restore(flags);
	return 0;
}

static int describe_filters(struct perf_event *event, char *line, size_t size)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter *filter;
	int length = 0, index = 0;

	list_for_each_entry(filter, &head->list, entry)
	{
		const struct perf_addr_filter_range *range = &event->addr_filter_ranges[index++];
		const char *action =
		    filter->action == PERF_ADDR_FILTER_ACTION_FILTER ? "filter" : "stop";

		length += scnprintf(line + length, size - length, " %s %#lx/%#lx", action,
				    range->start, range->size);
	}
	return length;
}

static ssize_t pt_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	char line[256] = "idle";
	struct perf_event *event;
	unsigned long flags;
	int length;

	local_irq_save(flags);
	event = this_cpu_ptr(&pt_cpus)->handle.event;
	length = event ? scnprintf(line, sizeof(line), "config %#llx%s%s", event->attr.config,
				   event->attr.exclude_kernel ? "" : " kernel",
				   event->attr.exclude_user ? "" : " user")
		       : strlen(line);
	if (event)
		length += describe_filters(event, line + length, sizeof(line) - length);
	local_irq_restore(flags);
	line[length++] = '\n';
	return simple_read_from_buffer(to, size, at, line, length);
}

static const struct file_operations operations = {
    .owner = THIS_MODULE,
    .read = pt_read,
    .write = pt_write,
    .unlocked_ioctl = pt_ioctl,
};

static struct miscdevice device = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "mtrace_test_pt",
    .fops = &operations,
    .mode = 0666,
};

int pt_device_register(void)
{
	return misc_register(&device);
}

void pt_device_unregister(void)
{
	misc_deregister(&device);
}
