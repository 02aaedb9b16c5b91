"""How the wheel is built: the packages of the repository become parts of the package sharespec.

``pyproject.toml`` says which folder goes where; here the imports follow. An editable install
leaves them where they are, at the top level.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """Renames the imports of what the wheel has, in copies."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Let copies with renamed imports take the places of the modules."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from tools.one_name import ONE_NAME, renamed  # noqa: PLC0415 - of this folder

        self._renamed = tempfile.TemporaryDirectory()  # until the wheel is whole
        files = [
            file
            for file in self.build_config.builder.recurse_included_files()
            if file.path.endswith(".py")
        ]
        tops = {Path(file.relative_path).parts[0] for file in files}
        for file in files:
            copy = Path(self._renamed.name, file.relative_path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            source = Path(file.path).read_text(encoding="utf-8")
            text = renamed(source, file.relative_path, tops - {ONE_NAME})
            copy.write_text(text, encoding="utf-8")
            build_data["force_include"][str(copy)] = file.distribution_path

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact: str) -> None:
        """Remove the files with other names."""
        if version != "editable":
            self._renamed.cleanup()
