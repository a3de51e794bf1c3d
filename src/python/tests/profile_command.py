"""Runs the command shardtide.profile, for tests of it. Needs numpy."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import tempfile
import unittest


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
        from shardtide.profile import __main__ as command

        out = self.folder / "profile.json"
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()) as err:
            command.main([*arguments, "--out", str(out)])
        return json.loads(out.read_text()), printed.getvalue(), err.getvalue()

    def error(self, *arguments):
        """Runs the command, which must fail in one line."""
        from shardtide.profile import __main__ as command

        with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit) as ended:
            command.main(arguments)
        code = ended.exception.code
        message = (code if isinstance(code, str) else err.getvalue()).strip()
        self.assertEqual(len(message.splitlines()), 1, message)
        self.assertTrue(message.startswith("shardtide.profile: "), message)
        return message
