# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of a process, compared with the files that it came from."""
import pathlib


def code_of(pid):
    """[(path, offset, bytes in memory)] of its files' code."""
    maps = [line.split() for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()]
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for words in maps:
            if words[1].startswith("r-x") and len(words) > 5 and words[5].startswith("/"):
                start, stop = (int(word, 16) for word in words[0].split("-"))
                memory.seek(start)
                try:
                    yield words[5], int(words[2], 16), memory.read(stop - start)
                except OSError:  # unloaded meanwhile
                    continue


def changed(pid):
    """Paths of files whose code is not as it is in the file."""
    paths = []
    for path, offset, there in code_of(pid):
        bytes_of_file = pathlib.Path(path).read_bytes()[offset:offset + len(there)]
        if there[:len(bytes_of_file)] != bytes_of_file:
            paths.append(path)
    return paths


def ours(pid):
    """What is mapped of ours, in a program with no code but that of files, each mapped once."""
    code = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split()
        if "/memfd:mtrace" in line or ("x" in words[1] and len(words) == 5):
            yield line
        elif "x" in words[1]:
            code.append(words[5])
    yield from {path for path in code if code.count(path) > 1}
