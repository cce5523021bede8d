# SPDX-License-Identifier: GPL-3.0-or-later
"""Lint finds what it is there for: each seeded fault makes its check fail."""
import subprocess

import pytest

from conftest import ROOT

SPDX = "/* SPDX-License-Identifier: GPL-3.0-or-later */\n"


def script(name, *args):
    command = [str(ROOT / "scripts" / name), *(str(arg) for arg in args)]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def tree_with(tmp_path, path, text):
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SPDX + text)
    return tmp_path


GOOD = [
    ("core/base/a.c", '#include "base/str.h"\n#include <stdio.h>\n'),
    ("core/decode/a.c", '#include "pt/decoder.h"\n#include "perf/recording.h"\n'),
    ("core/engine/calls/a.c", '#include "engine/calls/plan/plan.h"\n#include "engine/engine.h"\n'),
    ("core/session/a.c", '#include "session/languages/go.h"\n#include "session/state/state.h"\n'),
    ("core/pt/a.c", '#include "trace/event.h"\n#include <intel-pt.h>\n'),
    ("core/perf/a.c", '#include "trace/event.h"\n'),
    ("core/output/a.c", '#include "trace/slice.h"\n#include "elf/function.h"\n'),
    ("ptrace/a.c", '#include "process/target.h"\n#include <sys/ptrace.h>\n'),
]
BAD = [
    ("core/base/a.c", '#include "elf/objfile.h"\n', "upward"),
    ("core/trace/a.h", '#include "decode/decode.h"\n', "upward"),
    ("core/session/a.c", '#include "command/command.h"\n', "upward"),
    ("core/command/a.c", '#include "terminal/terminal.h"\n', "upward"),
    ("core/pt/a.c", '#include "perf/recording.h"\n', "sideways"),
    ("core/perf/a.c", '#include "trace/slice.h"\n', "sideways"),
    ("core/pt/a.c", '#include "trace/slice.h"\n', "sideways"),
    ("core/session/a.c", '#include "decode/decode.h"\n', "sideways"),
    ("core/session/languages/a.c", '#include "session/private.h"\n', "upward"),
    ("core/session/state/a.c", '#include "session/languages/go.h"\n', "upward"),
    ("core/engine/pt/a.c", '#include "engine/calls/private.h"\n', "sideways"),
    ("core/engine/calls/plan/a.c", '#include "engine/engine.h"\n', "upward"),
    ("core/elf/a.c", '#include "x86/insn.h"\n', "sideways"),
    ("core/session/a.c", "#include <intel-pt.h>\n", "belongs behind"),
    ("core/session/a.c", "  #  include <sys/ptrace.h>\n", "belongs behind"),
    ("core/pt/a.c", "#include <Zydis/Zydis.h>\n", "belongs behind"),
    ("core/novel/a.c", "", "none of the layers"),
    ("core/base/a.c", '#include "novel/a.h"\n', "none of the layers"),
]


@pytest.mark.parametrize("path, text", GOOD)
def test_layering_lets_pass(tmp_path, path, text):
    done = script("check-layering", tree_with(tmp_path, path, text))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("path, text, word", BAD)
def test_layering_finds(tmp_path, path, text, word):
    done = script("check-layering", tree_with(tmp_path, path, text))
    assert done.returncode == 1
    assert path in done.stdout and word in done.stdout


def test_layering_wants_files(tmp_path):
    assert script("check-layering", tmp_path).returncode == 1


def test_the_tree_itself_is_layered():
    assert script("check-layering").stdout == ""


@pytest.fixture(name="archive")
def archive_fixture(tmp_path, need):
    need("gcc")

    def archive(source):
        file = tmp_path / "a.c"
        file.write_text(source)
        commands = [["gcc", "-O1", "-c", "-o", tmp_path / "a.o", file],
                    ["ar", "rcs", tmp_path / "a.a", tmp_path / "a.o"]]
        for command in commands:
            subprocess.run(command, check=True)
        return tmp_path / "a.a"

    return archive


@pytest.mark.parametrize(
    "body, symbol",
    [
        ('#include <stdlib.h>\nvoid mt_a(void) { exit(1); }', "exit"),
        ('#include <stdlib.h>\nvoid mt_a(void) { abort(); }', "abort"),
        ('#include <stdio.h>\nvoid mt_a(int n) { printf("%d", n); }', "printf"),
        ('#include <stdio.h>\nvoid mt_a(void) { puts("x"); }', "puts"),
        ('#include <stdio.h>\nvoid mt_a(void) { fputs("x", stdout); }', "stdout"),
        ('#include <sys/ptrace.h>\nlong mt_a(void) { return ptrace(PTRACE_TRACEME); }', "ptrace"),
        ('#include <assert.h>\nvoid mt_a(int n) { assert(n); }', "__assert_fail"),
        ('void Py_Initialize(void);\nvoid mt_a(void) { Py_Initialize(); }', "Py_Initialize"),
        ('char *rl_gets(void);\nvoid mt_a(void) { rl_gets(); }', "rl_gets"),
        ('int mtrace(void);\nint mtrace(void) { return 1; }', "mtrace"),
        ('int other_name = 3;', "other_name"),
    ],
)
def test_symbols_finds(archive, body, symbol):
    done = script("check-symbols", archive(body))
    assert done.returncode == 1
    assert symbol in done.stdout


def test_symbols_lets_pass(archive):
    body = """#include <stdio.h>
    static int hidden = 1;
    int mt_count = 2;
    int mt_a(FILE *file) { return fprintf(file, "%d", hidden + mt_count); }"""
    done = script("check-symbols", archive(body))
    assert (done.returncode, done.stdout) == (0, "")


def test_symbols_wants_an_archive(tmp_path):
    assert script("check-symbols", tmp_path / "none.a").returncode == 2


def test_unused(tmp_path):
    folder = tmp_path / "core" / "base"
    folder.mkdir(parents=True)
    (folder / "a.h").write_text("int mt_used(int n);\nint mt_left(int n);\n"
                                "static inline int mt_inline(void) { return 0; }\n")
    (folder / "a.c").write_text("int mt_used(int n) { return n; }\nint mt_left(int n) { return n; }\n")
    (folder / "b.c").write_text("static int user(void) { return mt_used(1); }\n")
    done = script("check-unused", *folder.iterdir())
    assert done.returncode == 1
    assert "mt_left: nobody calls it" in done.stdout
    assert "mt_used" not in done.stdout and "mt_inline" not in done.stdout
    (folder / "b.c").write_text("static int user(void) { return mt_used(1) + mt_left(2); }\n")
    assert script("check-unused", *folder.iterdir()).returncode == 0


def test_spdx(tmp_path):
    (tmp_path / "good.c").write_text(SPDX)
    (tmp_path / "bad.c").write_text("int x;\n")
    assert script("check-spdx", tmp_path / "good.c").returncode == 0
    done = script("check-spdx", tmp_path / "good.c", tmp_path / "bad.c")
    assert done.returncode == 1
    assert "bad.c" in done.stdout and "good.c" not in done.stdout


CLEAN = SPDX + """#include "base/a.h"

int mt_a(int n)
{
	return n + 1;
}
"""
SEEDED = [
    ("layering", "core/base/a.c", CLEAN.replace("base/a.h", "elf/a.h")),
    ("licence", "core/base/a.c", CLEAN.replace("GPL", "XYZ")),
    ("clang-format", "core/base/a.c", CLEAN.replace("\treturn", "  return")),
    ("clang-tidy", "core/base/a.c", CLEAN.replace("n + 1", "n == n")),
    ("cppcheck", "core/base/a.c", CLEAN.replace("return n", "int a[2] = {0};\n\treturn a[2] + n")),
    ("shellcheck", "scripts/bad", "#!/bin/bash\necho $1\n"),
    ("codespell", "README.md", "Recieve this.\n"),
]


@pytest.fixture(name="small_tree")
def small_tree_fixture(tmp_path):
    """A project of one file that every check likes."""
    for path in ["scripts", ".clang-format", ".clang-tidy", "compile_flags.txt"]:
        subprocess.run(["cp", "-r", ROOT / path, tmp_path], check=True)
    texts = {"core/base/a.c": CLEAN, "core/base/a.h": SPDX + "int mt_a(int n);\n",
             "Makefile": "# " + SPDX}
    for name in ["cli", "docs", ".ci", "completions"]:
        (tmp_path / name).mkdir()
    for name in ["README.md", "HACKING.md", "GLOSSARY.md"]:
        texts[name] = "Words.\n"
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def lint(root, check):
    return subprocess.run([root / "scripts/lint", check], cwd=root, check=False,
                          capture_output=True, text=True)


@pytest.mark.parametrize("check, path, text", SEEDED)
def test_lint_finds_what_is_seeded(small_tree, need, check, path, text):
    if check.startswith("c") or check == "shellcheck":
        need(check)
    before = lint(small_tree, check)
    assert (before.returncode, before.stdout) == (0, "lint: 1 passed, 0 failed, 0 skipped\n")
    (small_tree / path).write_text(text)
    after = lint(small_tree, check)
    assert after.returncode == 1
    assert after.stdout.endswith(f"lint: {check} FAILED\nlint: 0 passed, 1 failed, 0 skipped\n")


FAKE_MTDB = """#!/bin/sh
case "$2" in
go) printf 'Usage: mtdb go\\n\\nOptions:\\n  -f, --far=N  how far\\n  --quick      now\\n' ;;
*) printf 'Usage: mtdb\\n\\nCommands:\\n  go        Go there\\n' ;;
esac
"""
MAN = """# COMMANDS

## go [*OPTION*]...

Go.

**-f**, **--far**=*N*
:   How far.

**--quick**
:   Now.

# EXIT STATUS
"""
COMPLETION = "go --far= --quick\n"


@pytest.fixture(name="documented")
def documented_fixture(tmp_path):
    (tmp_path / "mtdb").write_text(FAKE_MTDB)
    (tmp_path / "mtdb").chmod(0o755)
    (tmp_path / "docs/man").mkdir(parents=True)
    (tmp_path / "docs/man/mtdb.1.md").write_text(MAN)
    (tmp_path / "completions").mkdir()
    for name in ["mtdb.bash", "_mtdb"]:
        (tmp_path / "completions" / name).write_text(COMPLETION)
    (tmp_path / "completions/mtdb.fish").write_text("-a go -l far -l quick\n")
    return tmp_path


def check_help(root):
    return script("check-help", root / "mtdb", root)


def test_help_agrees(documented):
    done = check_help(documented)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "path, old, new, complaint",
    [
        ("docs/man/mtdb.1.md", "**--quick**", "**quick**", "go --quick: an option only in help"),
        ("docs/man/mtdb.1.md", "**-f**, ", "", "go -f: an option only in help"),
        ("docs/man/mtdb.1.md", "# EXIT", "**--more**\n:   x\n\n# EXIT",
         "go --more: an option only in the man page"),
        ("docs/man/mtdb.1.md", "## go", "## stay", "go: a command only in help"),
        ("completions/mtdb.bash", "--far", "--fat", "no option --far of go"),
        ("completions/_mtdb", "go", "stay", "no command go"),
        ("completions/mtdb.fish", "-l quick", "", "no option --quick of go"),
    ],
)
def test_help_finds(documented, path, old, new, complaint):
    file = documented / path
    file.write_text(file.read_text().replace(old, new))
    done = check_help(documented)
    assert done.returncode == 1
    assert complaint in done.stdout


CMOCKA = """
#include "unit.h"
static void good(void **state) { (void)state; }
static void left_out(void **state) { (void)state; skip(); }
static void bad(void **state) { (void)state; assert_int_equal(1, 2); }
int main(void)
{
	const struct CMUnitTest tests[] = {TESTS};
	(void)good; (void)left_out; (void)bad;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
"""


@pytest.mark.parametrize(
    "tests, status, counts",
    [
        ("good", 0, "1 passed, 0 failed, 0 skipped"),
        ("good,left_out,good", 0, "2 passed, 0 failed, 1 skipped"),
        ("good,bad,bad,left_out", 1, "1 passed, 2 failed, 1 skipped"),
        ("left_out", 1, "0 passed, 0 failed, 1 skipped"),
    ],
)
def test_unit_runs_are_counted(tmp_path, need, tests, status, counts):
    need("gcc")
    listed = ",".join(f"cmocka_unit_test({name})" for name in tests.split(","))
    (tmp_path / "t.c").write_text(CMOCKA.replace("TESTS", listed))
    subprocess.run(
        ["gcc", "-Icore", "-Itests/unit", "-o", tmp_path / "t", tmp_path / "t.c",
         *(f"core/base/{name}.c" for name in ("array", "error", "str", "utf8")), "-D_GNU_SOURCE", "-lcmocka"], cwd=ROOT,
        check=True)
    done = script("run-unit", tmp_path / "t")
    assert done.returncode == status
    assert done.stdout.splitlines()[-1] == f"unit tests: {counts}"


def test_a_unit_program_that_dies_is_a_failure(tmp_path):
    (tmp_path / "t").write_text("#!/bin/sh\nkill -SEGV $$\n")
    (tmp_path / "t").chmod(0o755)
    done = script("run-unit", tmp_path / "t")
    assert done.returncode == 1
    assert "1 failed" in done.stdout


def test_dependencies_are_named():
    done = script("install-deps", "--report", "nonsense")
    assert done.returncode == 2
    assert "build" in done.stderr
