"""Names of version 0.2.0, which end with the next version."""

from __future__ import annotations

import functools
import warnings
from typing import Any, Callable, TypeVar

_Called = TypeVar("_Called", bound=Callable[..., Any])


def deprecated(instead: str) -> Callable[[_Called], _Called]:
    """Returns a decorator whose functions warn of what is to be called instead of them."""

    def decorate(old: _Called) -> _Called:
        @functools.wraps(old)
        def call(*arguments: Any, **named: Any) -> Any:
            warnings.warn(f"{old.__name__} ends with the next version: {instead}", DeprecationWarning, stacklevel=2)
            return old(*arguments, **named)

        return call  # type: ignore[return-value]

    return decorate
