// SPDX-License-Identifier: GPL-3.0-or-later OR GPL-2.0-only
/* /dev/mtrace_test_pt.  write(2): what the tracing hardware of this CPU puts out now.  It always
 * takes all of it, since no program learns whether it is traced.
 * ioctl(2) PT_FLAG: mark the transaction under way, as an error of the hardware would.
 * read(2): a line on the event that traces on this CPU, for tests: its config and its filters. */
#include "pt.h"

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#define GREATEST_WRITE (4u << 20)
#define PT_FLAG        _IO('p', 1)

static ssize_t pt_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	unsigned long flags;
	u8 *bytes;

	size = min_t(size_t, size, GREATEST_WRITE);
	bytes = vmemdup_user(from, size);
	if (IS_ERR(bytes))
		return PTR_ERR(bytes);
	local_irq_save(flags);
	pt_output(this_cpu_ptr(&pt_cpus), bytes, size);
	local_irq_restore(flags);
	kvfree(bytes);
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
