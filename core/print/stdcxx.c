/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libstdc++'s types, in the words of its pretty printers for GDB (libstdcxx/v6/printers.py). */
#include "print/container.h"

#include <string.h>

struct known {
	const char *prefix; /* of the type's name, up to its '<' */
	/* False: it has not the shape that is expected, and nothing was printed. */
	bool (*print)(struct mt_print *print, struct mt_value *value, const struct known *known);
};

/* "std::vector": without "<" */
static void append_kind(struct mt_print *print, const struct known *known)
{
	mt_str_append_bytes(print->out, known->prefix, strlen(known->prefix) - 1);
}

/* As people write it: "std::string". */
static void append_argument(struct mt_print *print, struct mt_type *type)
{
	static const char string[] =
	    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
	mt_auto(mt_str) struct mt_str name = {0};

	mt_type_name(type, NULL, &name);
	for (const char *at = name.failed || !name.text ? "" : name.text; *at;) {
		bool is_string = strncmp(at, string, sizeof(string) - 1) == 0;

		mt_str_append_bytes(print->out, is_string ? "std::string" : at,
				    is_string ? strlen("std::string") : 1);
		at += is_string ? sizeof(string) - 1 : 1;
	}
}

/* "std::optional<int>": of COUNT arguments. */
static void append_type(struct mt_print *print, const struct known *known, struct mt_type *type,
			unsigned count)
{
	mt_str_append(print->out, known->prefix);
	for (unsigned i = 0; i < count; i++) {
		struct mt_type *argument = mt_template_argument(type, i);

		if (!argument)
			break;
		mt_str_append(print->out, i ? ", " : "");
		append_argument(print, argument);
	}
	mt_str_append(print->out, ">");
}

/* Bits in words of 64. */
static bool print_bits(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_children children = {.print = print, .hint = MT_CHILDREN_ARRAY};
	uint64_t start, finish, end, offset, word;

	if (!mt_container_number(print, value, "_M_impl._M_start._M_p", &start) ||
	    !mt_container_number(print, value, "_M_impl._M_finish._M_p", &finish) ||
	    !mt_container_number(print, value, "_M_impl._M_finish._M_offset", &offset) ||
	    !mt_container_number(print, value, "_M_impl._M_end_of_storage", &end) ||
	    finish < start || end < start)
		return false;
	uint64_t count = (finish - start) * 8 + offset;
	append_kind(print, known);
	mt_str_appendf(print->out, "<bool> of length %llu, capacity %llu",
		       (unsigned long long)count, (unsigned long long)(end - start) * 8);
	for (uint64_t i = 0; i < count && mt_children_next(&children); i++) {
		if (!mt_container_word(print, start + i / 64 * sizeof(word), &word))
			break;
		mt_str_append(print->out, word >> i % 64 & 1 ? "true" : "false");
	}
	mt_children_end(&children);
	return true;
}

static bool print_vector(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_type *element = mt_template_argument(value->type, 0);
	uint64_t start, finish, end, size = element ? mt_type_size(element) : 0;

	if (element && mt_type_strip(element)->kind == MT_TYPE_BOOL)
		return print_bits(print, value, known);
	if (!size || !mt_container_number(print, value, "_M_impl._M_start", &start) ||
	    !mt_container_number(print, value, "_M_impl._M_finish", &finish) ||
	    !mt_container_number(print, value, "_M_impl._M_end_of_storage", &end) ||
	    finish < start || end < start)
		return false;
	append_kind(print, known);
	mt_str_appendf(print->out, " of length %llu, capacity %llu",
		       (unsigned long long)((finish - start) / size),
		       (unsigned long long)((end - start) / size));
	mt_container_array(print, element, start, (finish - start) / size);
	return true;
}

static bool print_initializers(struct mt_print *print, struct mt_value *value,
			       const struct known *known)
{
	struct mt_type *element = mt_template_argument(value->type, 0);
	uint64_t start, count;

	if (!element || !mt_container_number(print, value, "_M_array", &start) ||
	    !mt_container_number(print, value, "_M_len", &count))
		return false;
	append_kind(print, known);
	mt_str_appendf(print->out, " of length %llu", (unsigned long long)count);
	mt_container_array(print, element, start, count);
	return true;
}

static void append_count(struct mt_print *print, const struct known *known, uint64_t count,
			 const char *what, const char *many)
{
	append_kind(print, known);
	mt_str_appendf(print->out, " with %llu %s", (unsigned long long)count,
		       count == 1 ? what : many);
}

static bool is_map(const struct known *known)
{
	return strstr(known->prefix, "map<");
}

static bool print_tree(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_nodes nodes = {.kind = MT_NODES_TREE, .is_map = is_map(known)};
	struct mt_value tree;

	if (!mt_container_field(print, value, "_M_t", &tree) ||
	    !mt_container_number(print, &tree, "_M_impl._M_header._M_left", &nodes.first) ||
	    !mt_container_number(print, &tree, "_M_impl._M_node_count", &nodes.count))
		return false;
	nodes.element = mt_template_argument(tree.type, 1);
	if (!nodes.element)
		return false;
	append_count(print, known, nodes.count, "element", "elements");
	mt_print_nodes(print, &nodes);
	return true;
}

static bool print_table(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_nodes nodes = {.kind = MT_NODES_TABLE, .is_map = is_map(known)};
	struct mt_value table;

	if (!mt_container_field(print, value, "_M_h", &table) ||
	    !mt_container_number(print, &table, "_M_before_begin._M_nxt", &nodes.first) ||
	    !mt_container_number(print, &table, "_M_element_count", &nodes.count))
		return false;
	nodes.element = mt_template_argument(table.type, 1);
	if (!nodes.element)
		return false;
	append_count(print, known, nodes.count, "element", "elements");
	mt_print_nodes(print, &nodes);
	return true;
}

static bool print_list(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	bool is_forward = strstr(known->prefix, "forward_");
	struct mt_nodes nodes = {.kind = is_forward ? MT_NODES_TABLE : MT_NODES_LIST,
				 .element = mt_template_argument(value->type, 0),
				 .count = MT_CONTAINER_MOST};

	if (!nodes.element ||
	    !mt_container_number(print, value,
				 is_forward ? "_M_impl._M_head._M_next" : "_M_impl._M_node._M_next",
				 &nodes.first) ||
	    (!is_forward &&
	     !mt_container_number(print, value, "_M_impl._M_node._M_size", &nodes.count)))
		return false;
	bool is_empty = is_forward ? !nodes.first : !nodes.count;
	mt_str_append(print->out, is_empty ? "empty " : "");
	append_kind(print, known);
	if (!is_empty)
		mt_print_nodes(print, &nodes);
	return true;
}

static bool print_deque(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_children children = {.print = print, .hint = MT_CHILDREN_ARRAY};
	struct mt_type *element = mt_template_argument(value->type, 0);
	uint64_t at, last, node, end_at, end_first, end_node, size = 0;

	if (element)
		size = mt_type_size(element);
	if (!size || !mt_container_number(print, value, "_M_impl._M_start._M_cur", &at) ||
	    !mt_container_number(print, value, "_M_impl._M_start._M_last", &last) ||
	    !mt_container_number(print, value, "_M_impl._M_start._M_node", &node) ||
	    !mt_container_number(print, value, "_M_impl._M_finish._M_cur", &end_at) ||
	    !mt_container_number(print, value, "_M_impl._M_finish._M_first", &end_first) ||
	    !mt_container_number(print, value, "_M_impl._M_finish._M_node", &end_node))
		return false;
	uint64_t room = size < 512 ? 512 / size : 1, blocks = (end_node - node) / sizeof(node);
	uint64_t count =
	    blocks ? room * (blocks - 1) + (last - at) / size + (end_at - end_first) / size
		   : (end_at - at) / size;

	append_count(print, known, count, "element", "elements");
	for (uint64_t i = 0; i < count && mt_children_next(&children); i++, at += size) {
		if (at == last) {
			node += sizeof(node);
			if (!mt_container_word(print, node, &at))
				break;
			last = at + room * size;
		}
		struct mt_value one = mt_value_at(element, at);
		mt_children_value(&children, &one);
	}
	mt_children_end(&children);
	return true;
}

static bool is_called(const struct mt_member *member, const char *prefix)
{
	return member->kind == MT_MEMBER_BASE && member->name &&
	       strncmp(member->name, prefix, strlen(prefix)) == 0;
}

/* What std::_Tuple_impl<N, …> holds, in *HEAD; then *REST is what holds the others.  An empty type
 * is a base of its _Head_base, not a member. */
static bool take_head(struct mt_print *print, struct mt_value *rest, struct mt_value *head)
{
	struct mt_type *type = mt_type_strip(rest->type);
	struct mt_value holder = {0}, others = {0}, whole = *rest;

	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];
		bool is_head = is_called(member, "std::_Head_base<");

		if (!is_head && !is_called(member, "std::_Tuple_impl<"))
			continue;
		struct mt_error *error =
		    mt_value_member(print->eval, &whole, member, is_head ? &holder : &others);
		bool is_there = !error;
		mt_error_destroy(error);
		if (!is_there)
			return false;
	}
	*rest = others;
	if (!holder.type)
		return false;
	if (!mt_container_field(print, &holder, "_M_head_impl", head))
		*head = holder;
	return true;
}

/* *OUT: the first std::_Tuple_impl of a tuple.  False: it is empty. */
static bool begin_tuple(struct mt_print *print, struct mt_value *tuple, struct mt_value *out)
{
	struct mt_type *type = mt_type_strip(tuple->type);

	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count; i++) {
		if (!is_called(&type->members[i], "std::_Tuple_impl<"))
			continue;
		struct mt_error *error =
		    mt_value_member(print->eval, tuple, &type->members[i], out);
		bool is_there = !error;
		mt_error_destroy(error);
		return is_there;
	}
	return false;
}

static bool print_tuple(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_children children = {.print = print};
	struct mt_value rest, head;

	if (!begin_tuple(print, value, &rest)) {
		mt_str_append(print->out, "empty ");
		append_kind(print, known);
		return true;
	}
	append_kind(print, known);
	mt_str_append(print->out, " containing");
	for (unsigned i = 1; rest.type && take_head(print, &rest, &head); i++) {
		if (!mt_children_next(&children))
			break;
		mt_str_appendf(print->out, "[%u] = ", i);
		mt_children_value(&children, &head);
	}
	mt_children_end(&children);
	return true;
}

static bool print_pair(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	static const char *const names[] = {"first", "second"};
	struct mt_children children = {.print = print, .is_bare = true};
	struct mt_value parts[2];

	(void)known;
	for (size_t i = 0; i < 2; i++)
		if (!mt_container_field(print, value, names[i], &parts[i]))
			return false;
	for (size_t i = 0; i < 2 && mt_children_next(&children); i++) {
		mt_str_appendf(print->out, "%s = ", names[i]);
		mt_children_value(&children, &parts[i]);
	}
	mt_children_end(&children);
	return true;
}

static void print_get(struct mt_print *print, struct mt_value *pointer)
{
	struct mt_children children = {.print = print};

	if (mt_children_next(&children)) {
		mt_str_append(print->out, "get() = ");
		mt_children_value(&children, pointer);
	}
	mt_children_end(&children);
}

static bool print_unique(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_value tuple, rest, pointer;

	if (!mt_container_field(print, value, "_M_t._M_t", &tuple) ||
	    !begin_tuple(print, &tuple, &rest) || !take_head(print, &rest, &pointer))
		return false;
	append_type(print, known, value->type, 1);
	print_get(print, &pointer);
	return true;
}

/* std::shared_ptr and std::weak_ptr. */
static bool print_shared(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_value pointer, counts_pointer, counts;
	uint64_t address, used = 0, weak = 0;

	if (!mt_container_field(print, value, "_M_ptr", &pointer) ||
	    !mt_container_field(print, value, "_M_refcount._M_pi", &counts_pointer) ||
	    !mt_container_number(print, value, "_M_refcount._M_pi", &address))
		return false;
	if (address) {
		struct mt_error *error =
		    mt_value_dereference(print->eval, &counts_pointer, &counts);
		bool is_there = !error;

		mt_error_destroy(error);
		if (!is_there || !mt_container_number(print, &counts, "_M_use_count", &used) ||
		    !mt_container_number(print, &counts, "_M_weak_count", &weak))
			return false;
	}
	append_type(print, known, value->type, 1);
	if (!address)
		mt_str_append(print->out, " (empty)");
	else if (used)
		mt_str_appendf(print->out, " (use count %lld, weak count %lld)", (long long)used,
			       (long long)weak - 1);
	else
		mt_str_appendf(print->out, " (expired, weak count %lld)", (long long)weak);
	print_get(print, &pointer);
	return true;
}

static bool print_optional(struct mt_print *print, struct mt_value *value,
			   const struct known *known)
{
	struct mt_children children = {.print = print};
	struct mt_value inner;
	uint64_t is_engaged;

	if (!mt_container_number(print, value, "_M_payload._M_engaged", &is_engaged) ||
	    !mt_container_field(print, value, "_M_payload._M_payload._M_value", &inner))
		return false;
	append_type(print, known, value->type, 1);
	if (!is_engaged) {
		mt_str_append(print->out, " [no contained value]");
	} else if (mt_children_next(&children)) {
		mt_str_append(print->out, "[contained value] = ");
		mt_children_value(&children, &inner);
	}
	mt_children_end(&children);
	return true;
}

static bool print_variant(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_children children = {.print = print, .hint = MT_CHILDREN_ARRAY};
	struct mt_value storage, inner;
	uint64_t index;

	if (!mt_container_number(print, value, "_M_index", &index) ||
	    !mt_container_field(print, value, "_M_u", &storage))
		return false;
	struct mt_type *type =
	    index < UINT8_MAX ? mt_template_argument(value->type, (unsigned)index) : NULL;
	append_type(print, known, value->type, UINT8_MAX);
	if (!type) {
		mt_str_append(print->out, " [no contained value]");
		return true;
	}
	mt_str_appendf(print->out, " [index %llu]", (unsigned long long)index);
	struct mt_error *error = mt_value_part(print->eval, &storage, type, 0, &inner);
	if (!error && mt_children_next(&children))
		mt_children_value(&children, &inner);
	mt_error_destroy(error);
	mt_children_end(&children);
	return true;
}

static bool print_atomic(struct mt_print *print, struct mt_value *value, const struct known *known)
{
	struct mt_value inner;

	if (!mt_container_field(print, value, "_M_i", &inner) &&
	    !mt_container_field(print, value, "_M_base._M_i", &inner) &&
	    !mt_container_field(print, value, "_M_b._M_p", &inner))
		return false;
	append_type(print, known, value->type, 1);
	mt_str_append(print->out, " = { ");
	mt_print_value(print, &inner);
	mt_str_append(print->out, " }");
	return true;
}

/* The element that it stands at. */
static bool print_iterator(struct mt_print *print, struct mt_value *value,
			   const struct known *known)
{
	struct mt_value current, element;
	uint64_t address;

	(void)known;
	if (!mt_container_field(print, value, "_M_current", &current) ||
	    mt_type_strip(current.type)->kind != MT_TYPE_POINTER ||
	    !mt_container_number(print, value, "_M_current", &address) || !address)
		return false;
	element = mt_value_at(mt_type_target(mt_type_strip(current.type)), address);
	struct mt_error *error = mt_value_fetch(print->eval, &element);
	bool is_read = !error;
	mt_error_destroy(error);
	if (is_read)
		mt_print_value(print, &element);
	return is_read;
}

static const struct known all[] = {
    {"std::vector<", print_vector},
    {"std::initializer_list<", print_initializers},
    {"std::map<", print_tree},
    {"std::multimap<", print_tree},
    {"std::set<", print_tree},
    {"std::multiset<", print_tree},
    {"std::unordered_map<", print_table},
    {"std::unordered_multimap<", print_table},
    {"std::unordered_set<", print_table},
    {"std::unordered_multiset<", print_table},
    {"std::__cxx11::list<", print_list},
    {"std::forward_list<", print_list},
    {"std::deque<", print_deque},
    {"std::pair<", print_pair},
    {"std::tuple<", print_tuple},
    {"std::unique_ptr<", print_unique},
    {"std::shared_ptr<", print_shared},
    {"std::weak_ptr<", print_shared},
    {"std::optional<", print_optional},
    {"std::variant<", print_variant},
    {"std::atomic<", print_atomic},
    {"__gnu_cxx::__normal_iterator<", print_iterator},
};

bool mt_print_stdcxx(struct mt_print *print, struct mt_value *value)
{
	const char *name = mt_type_strip(value->type)->name;

	for (size_t i = 0; name && i < sizeof(all) / sizeof(*all); i++)
		if (strncmp(name, all[i].prefix, strlen(all[i].prefix)) == 0)
			return all[i].print(print, value, &all[i]);
	return false;
}
