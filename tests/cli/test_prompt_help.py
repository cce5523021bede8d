# SPDX-License-Identifier: GPL-3.0-or-later
"""What mtdb's prompt tells of itself."""
import pytest


@pytest.fixture(name="tell")
def run_commands(run_mtdb):
    def run(*commands):
        done = run_mtdb("-batch", *(word for command in commands for word in ("-ex", command)))
        return done.stdout
    return run


def test_every_command_has_a_help_of_its_own(tell):
    names = [line.split()[0] for line in tell("help").splitlines()]
    assert len(names) > 40 and len(set(names)) == len(names)
    texts = tell(*(f"help {name}" for name in names))
    assert all(f"Usage: {name} " in texts or f"{name} -- " in tell("apropos " + name)
               for name in names)
    assert "Undefined" not in texts


def test_help_of_a_word_behind_a_command(tell):
    """With all the words that are to be typed, which may have been abbreviated."""
    assert "Usage: mtrace trigger [OPTION]... LOCATION" in tell("help mtrace tr")
    assert "Usage: info line " in tell("help inf line")
    assert "thread apply all|NUMBER... " in tell("help thread")


def test_apropos(tell):
    lines = tell("apropos thread").splitlines()
    assert "info threads -- List threads." in lines
    assert not any(line.startswith("list ") for line in lines)
    assert tell("apropos nothing-of-that-kind") == ""
