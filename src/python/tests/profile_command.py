"""Runs the command shardtide.profile, for tests of it. Needs numpy."""

from __future__ import annotations

import json
import pathlib
import tempfile
import unittest

import commands


class CommandCase(unittest.TestCase):
    """Tests of the command in a folder of their own."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def path(self, name):
        return str(self.folder / name)

    def profile(self, *arguments):
        """Runs the command; returns the fields of the tables, what it printed, and its messages."""
        out = self.folder / "profile.json"
        printed, err = commands.run("profile", *arguments, "--out", out)
        return json.loads(out.read_text()), printed, err

    def error(self, *arguments):
        """Runs the command, which must fail in one line."""
        with self.assertRaises(commands.Ended) as ended:
            commands.run("profile", *arguments)
        # After the numbers of ids, if all were read.
        *read, message = ended.exception.message.splitlines()
        self.assertTrue(all("million a second" in line for line in read), read)
        self.assertTrue(message.startswith("shardtide-py profile: "), message)
        return message
