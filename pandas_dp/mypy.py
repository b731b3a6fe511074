"""A plugin that tells mypy what ``df.dp`` is: ``plugins = ["pandas_dp.mypy"]`` in its configuration, beside pandas-stubs.

mypy loads this module; nothing in the package does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mypy.nodes import Import, ImportFrom, MypyFile
from mypy.plugin import AttributeContext, Plugin
from mypy.types import Instance, Type

FRAME, ACCESSOR = "pandas.core.frame.DataFrame.dp", "pandas_dp.accessor.accessor"


class FramePlugin(Plugin):
    """Gives ``DataFrame.dp`` its type."""

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Return what finds the type of this attribute."""
        return _accessor if fullname == FRAME else None

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Read the accessor before files that import pandas."""
        imports = [i for i in file.imports if isinstance(i, Import | ImportFrom)]
        names = [
            name for i in imports for name in ([i.id] if isinstance(i, ImportFrom) else [known for known, _ in i.ids])
        ]
        ours = file.fullname.startswith(("pandas.", "pandas_dp"))
        return [] if ours or not any(name.startswith("pandas") for name in names) else [(10, ACCESSOR, -1)]


def _accessor(context: AttributeContext) -> Type:
    checker: Any = context.api
    read = checker.modules.get(ACCESSOR)
    return context.default_attr_type if read is None else Instance(read.names["Accessor"].node, [])


def plugin(version: str) -> type[Plugin]:
    """Return the plugin, as mypy asks for it."""
    return FramePlugin
