"""The package as pip installs it, outside of the repository."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Sequence

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "src/python"
sys.path.insert(0, str(PACKAGE))

import typed_records

from shardtide import command


@unittest.skipUnless(importlib.util.find_spec("flit_core"), "flit_core is not installed")
class Installed(unittest.TestCase):
    def run_python(self, *arguments: str, cwd: str) -> str:
        # Without the PYTHONPATH that the other tests need.
        called: Sequence[str] = [sys.executable, "-B", *arguments]
        ended = subprocess.run(called, cwd=cwd, env={"PYTHONPATH": cwd}, capture_output=True, text=True, timeout=100)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def test_it_is_whole(self) -> None:
        before = sorted(PACKAGE.iterdir())
        with tempfile.TemporaryDirectory() as folder:
            # Dependencies need an index of packages; a build in this environment does not.
            options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
            self.run_python("-m", "pip", "install", *options, "--target", folder, str(PACKAGE), cwd=folder)
            script = "import shardtide, shardtide.log, shardtide.train, shardtide.torchrec as t; print(t.__file__)"
            self.assertTrue(self.run_python("-c", script, cwd=folder).startswith(folder))
            for name, (module, _) in command.COMMANDS.items():
                module = module.removesuffix(".__main__")
                for alias in (["shardtide.command", name], [module]):
                    said = self.run_python("-m", *alias, "--help", cwd=folder)
                    self.assertIn(f"usage: shardtide-py {name}", said)
            self.assertIn("publish", self.run_python(str(pathlib.Path(folder) / "bin/shardtide-py"), cwd=folder))
            installed = pathlib.Path(folder) / "shardtide"
            self.assertTrue((installed / "py.typed").exists())
            (metadata,) = pathlib.Path(folder).glob("shardtide-*.dist-info/METADATA")
            version = self.run_python("-c", "import shardtide; print(shardtide.__version__)", cwd=folder).strip()
            self.assertIn(f"\nVersion: {version}\n", metadata.read_text(encoding="utf-8"))
        self.assertEqual(sorted(PACKAGE.iterdir()), before, "nothing is left in the tree")


class Types(unittest.TestCase):
    def test_records_have_the_types_of_the_schemas(self) -> None:
        written = typed_records.STUB.read_text(encoding="utf-8")
        self.assertEqual(written, typed_records.text(), "run src/python/tests/typed_records.py")


if __name__ == "__main__":
    unittest.main()
