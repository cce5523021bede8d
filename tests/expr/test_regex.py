# SPDX-License-Identifier: GPL-3.0-or-later
"""$_regex at mtdb's prompt, and Python's re.match(), which GDB's calls: generated patterns and texts."""
import random
import re
import subprocess
import warnings

ATOMS = ["a", "b", "c", "ab", "x", "1", "_", ".", "\n", "é", "€", "\\n", "\\w", "\\d", "\\s", "\\W", "\\D", "\\S",
         "[ab]", "[^ab]", "[a-c]", "[^a]", "[]a]", "[a-]", "[é€]", "[\\w-]", "[^\\d]", "[\\]\\n]", "\\.", "\\x61",
         "\\u00e9", "\\101", "\\0", "{", "}", "]", "-"]
ODD = ["[b", "\\q", "(", ")", "[c-a]", "*", "\\"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{0}", "*?", "+?"]
ODD_QUANTIFIERS = ["{,}", "{2,1}", "{x}", "{", "**", "{1,2}??", "{}"]
LETTERS = "aaabbbAccXx\n\né€1_-. ]"
TEXTS_A_PATTERN = 6


class Patterns:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def piece(self, depth):
        choice = self.random.random()
        if choice < 0.07:
            return self.random.choice(["^", "$", "\\A", "\\Z"])
        if depth and self.random.random() < 0.35:
            piece = self.random.choice(["(", "(?:"]) + self.alternatives(depth - 1) + ")"
        else:
            piece = self.random.choice(ATOMS if self.random.random() < 0.97 else ODD)
        if choice < 0.45:
            piece += self.random.choice(QUANTIFIERS)
        elif choice < 0.5:
            piece += self.random.choice(ODD_QUANTIFIERS)
        return piece

    def pattern(self):
        return self.random.choice([""] * 12 + ["(?i)", "(?a)", "(?s)", "(?ais)"]) + self.alternatives(3)

    def alternatives(self, depth):
        return "|".join("".join(self.piece(depth) for _ in range(self.random.randint(0, 4)))
                        for _ in range(self.random.choice([1, 1, 2, 3])))

    def text(self):
        return "".join(self.random.choice(LETTERS) for _ in range(self.random.choice([0, 1, 2, 3, 4, 6, 9])))


def quoted(text):
    """As a literal in C, of bytes that no shell and no script stumbles over."""
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def python_says(pattern, text):
    """1, 0, or the error's words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(int(bool(re.compile(pattern).match(text))))
        except re.error as error:
            return error.msg


def mtdb_says(mtdb, cases, tmp_path):
    script = tmp_path / "commands"
    script.write_text("".join(f"print $_regex({quoted(text)}, {quoted(pattern)})\n" for pattern, text in cases))
    with script.open() as commands:
        done = subprocess.run([mtdb, "-q"], stdin=commands, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=300)
    lines = [line.removeprefix("(mtdb) ") for line in done.stdout.splitlines()]
    return [re.sub(r"^\$\d+ = |^\$_regex: ", "", line) for line in lines if line]


def test_equals_python(mtdb, tmp_path):
    made = Patterns(6)
    cases = []
    for _ in range(1500):
        pattern = made.pattern()
        cases += [(pattern, made.text()) for _ in range(TEXTS_A_PATTERN)]
    answers = mtdb_says(mtdb, cases, tmp_path)
    assert len(answers) == len(cases)
    compared = 0
    for (pattern, text), answer in zip(cases, answers):
        if "supported" in answer or "outside ASCII" in answer or "states" in answer or "too large" in answer:
            continue
        compared += 1
        right = python_says(pattern, text)
        assert answer == right or (len(answer) > 1 and right.startswith(answer)), (pattern, text)
    assert compared > len(cases) * 9 // 10
