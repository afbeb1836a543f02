"""A plugin of pytest for tests of today on an older source: what that source lacks fails when it is used, not before.

Otherwise one missing name at the top of a file would keep every test of the file from saying anything.
"""

import builtins
import types
from typing import Any

_import = builtins.__import__


class Missing:
    """Stands for a name that the older source does not have."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def _fail(self, *arguments: Any, **options: Any) -> Any:
        raise AttributeError(f"the commit before has no {self._name}")

    __call__ = __iter__ = _fail

    def __getattr__(self, key: str) -> Any:
        self._fail()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (object,)


def _imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    asker = (globals or {}).get("__name__", "")
    if not name.startswith("unweave") or not asker.startswith(("test_", "tests", "conftest")):
        return _import(name, globals, locals, fromlist, level)
    try:
        module = _import(name, globals, locals, fromlist, level)
    except ImportError:
        missing = types.ModuleType(name)
        setattr(missing, "__getattr__", lambda key: Missing(f"{name}.{key}"))  # noqa: B010
        return missing
    for key in fromlist or ():
        if key != "*" and not hasattr(module, key):
            try:
                _import(f"{name}.{key}")
            except ImportError:
                setattr(module, key, Missing(f"{name}.{key}"))
    return module


builtins.__import__ = _imported
