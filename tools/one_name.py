"""Names in the wheel: what the repository has as top-level packages are parts of one package.

``from model.states import RecordState`` becomes ``from sharespec.model.states import RecordState``.
Only import statements change, each within its line, so that line numbers stay what they are.
Strings stay too: code that names a module in one asks ``__package__`` what stands before it.
"""

import ast
from collections.abc import Collection, Iterator

ONE_NAME = "sharespec"
"""The name that the wheel puts into ``site-packages``."""


class UnclearImportError(ValueError):
    """An import that cannot be renamed in its place; one line with file and line."""


def renamed(source: str, path: str, moved: Collection[str]) -> str:
    """Return a module whose imports name the packages ``moved`` as parts of the one package.

    ``path`` is for the error. Raises UnclearImportError.
    """
    lines = source.split("\n")  # as ast counts them: splitlines also ends a line at a form feed
    for line, column, before, after in sorted(_changes(ast.parse(source), path, moved))[::-1]:
        # ast counts bytes, which are characters only in ASCII.
        text = lines[line - 1].encode()
        if not text[column:].startswith(before.encode()):
            raise UnclearImportError(f"{path}:{line}: write the import as {before!r}")
        end = column + len(before.encode())
        lines[line - 1] = (text[:column] + after.encode() + text[end:]).decode()
    return "\n".join(lines)


def _changes(
    tree: ast.AST, path: str, moved: Collection[str]
) -> Iterator[tuple[int, int, str, str]]:
    """Yield the line and column of each import to change, what stands there, and what will."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level == 0 and module.split(".")[0] in moved:
                begin = f"from {module} import "
                yield node.lineno, node.col_offset, begin, f"from {ONE_NAME}.{module} import "
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] in moved:
                    yield name.lineno, name.col_offset, *_renamed_import(name, path)


def _renamed_import(name: ast.alias, path: str) -> tuple[str, str]:
    if name.asname:
        given = f" as {name.asname}"
        return f"{name.name}{given}", f"{ONE_NAME}.{name.name}{given}"
    if "." in name.name:
        # It binds its first part, which will not be there.
        text = f"{path}:{name.lineno}: write 'import {name.name} as …', which has one meaning"
        raise UnclearImportError(text)
    return name.name, f"{ONE_NAME}.{name.name} as {name.name}"
