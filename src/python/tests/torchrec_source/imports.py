"""Modules that TorchRec imports and these tests do not need: each of their names is a class without a meaning."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

PACKAGES = ("fbgemm_gpu", "tensordict", "pyre_extensions", "iopath", "torchx", "torchmetrics")


class _Names(type):
    """A class whose attributes are the class itself."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class _Module(types.ModuleType):
    """A package that has a submodule and a class of every name."""

    known: ClassVar[Mapping[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.known.get(name) or _Names(name, (), {"__init__": lambda self, *args, **options: None})
        setattr(self, name, found)
        return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.split(".")[0] not in PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == "pyre_extensions":
            module.none_throws = lambda value, *message: value  # type: ignore[attr-defined]


def install(known: Mapping[str, Any]) -> None:
    """Adds the packages that are missing.

    known: names with a meaning, in whichever module they are looked for
    """
    _Module.known = known
    sys.meta_path.append(_Finder())
