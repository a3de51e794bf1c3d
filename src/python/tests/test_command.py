"""shardtide-py: the commands, the options and variables of clusters, and how commands end."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

import commands

from shardtide import __version__, command
from shardtide.errors import AccessDenied, InvalidRecord
from shardtide.log import __main__ as plans

NO_VARIABLES = {name: "" for name in ("SHARDTIDE_BOOTSTRAP_SERVER", "SHARDTIDE_REGISTRY")}


class Commands(unittest.TestCase):
    def test_without_a_command_the_help_is_shown(self) -> None:
        out, _ = commands.run(None)
        for name, (_, does) in command.COMMANDS.items():
            self.assertRegex(out, rf"(?m)^ +{name} ")
        self.assertEqual(commands.run(None, "--version")[0], f"{__version__}\n")

    def test_a_command_that_there_is_not_is_a_wrong_call(self) -> None:
        with self.assertRaisesRegex(commands.Ended, "invalid choice: 'plan'") as ended:
            commands.run(None, "plan")
        self.assertEqual((ended.exception.status, len(ended.exception.message.splitlines())), (2, 1))

    def test_the_first_argument_names_the_command(self) -> None:
        with mock.patch.object(plans, "run", return_value=0) as run:
            self.assertEqual(commands.run(None, "plans", "--prefix", "p."), ("", ""))
        self.assertEqual(run.call_args.args[0].prefix, "p.")

    def test_statuses_tell_wrong_values_from_what_failed(self) -> None:
        for error, status in (
            (ValueError("wrong"), 2),
            (FileNotFoundError(2, "wrong"), 2),
            (AccessDenied("wrong"), 1),
            (InvalidRecord("wrong"), 1),
            (ConnectionError("wrong"), 1),
            (MemoryError("wrong"), 1),
            (KeyboardInterrupt(), 130),
        ):
            with self.subTest(error=error), mock.patch.object(plans, "run", side_effect=error):
                with self.assertRaisesRegex(commands.Ended, "^shardtide-py plans: .*(wrong|interrupted)$") as ended:
                    commands.run("plans")
                self.assertEqual(ended.exception.status, status)
        with mock.patch.object(plans, "run", side_effect=KeyError("a fault")), self.assertRaises(KeyError):
            commands.run("plans")


class Clusters(unittest.TestCase):
    def log(self, *arguments: str, **variables: str):
        parser = argparse.ArgumentParser()
        command.add_cluster(parser, 7.0)
        with mock.patch.dict(os.environ, {**NO_VARIABLES, **variables}):
            return command.log_of(parser.parse_args(arguments))

    def test_addresses_are_options_or_variables(self) -> None:
        variables = {"SHARDTIDE_BOOTSTRAP_SERVER": "v:1", "SHARDTIDE_REGISTRY": "http://v:2"}
        options = ["-b", "o:1", "--registry", "http://o:2", "--prefix", "p."]
        for log, kafka, registry in (
            (self.log(*options), "o:1", "http://o:2"),
            (self.log(*options, **variables), "o:1", "http://o:2"),
            (self.log("--bootstrap-server", "o:1", **variables), "o:1", "http://v:2"),
            (self.log("a:1", "http://a:2"), "a:1", "http://a:2"),
        ):
            self.assertEqual((log._settings["bootstrap.servers"], log._schemas._url), (kafka, registry))
        self.assertEqual((self.log(*options).prefix, log.prefix, log.timeout_seconds), ("p.", "shardtide.", 7.0))
        for arguments in ((), ("-b", "o:1"), ("--registry", "http://o:2"), ("a:1",), ("a:1", "http://a:2", "b")):
            with self.subTest(arguments), self.assertRaisesRegex(ValueError, "give --bootstrap-server and --registry, or set"):
                self.log(*arguments)

    def test_settings_are_properties_or_json(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "settings"
            for option, text in (
                ("--command-config", "# of us\nsasl.username = me\n\nregistry.basic.auth.user.info=me:a=b\n"),
                ("--settings", '{"sasl.username": "me", "registry.basic.auth.user.info": "me:a=b"}'),
            ):
                file.write_text(text, encoding="utf-8")
                log = self.log("a:1", "http://a:2", option, str(file))
                self.assertEqual(log._settings["sasl.username"], "me")
                self.assertNotIn("registry.basic.auth.user.info", log._settings)
                self.assertIn(("Authorization", "Basic bWU6YT1i"), log._schemas._opener.addheaders)
            file.write_text("{", encoding="utf-8")
            with self.assertRaisesRegex(commands.Ended, "--command-config/--settings: .*must be JSON"):
                commands.run("plans", "--command-config", file)


if __name__ == "__main__":
    unittest.main()
