"""One progress callback: whatever is told of headway takes the same type, and nothing else is called back for its effect alone."""

import ast
from pathlib import Path

import evenhand

PACKAGE = Path(evenhand.__file__).parent
NOT_HEADWAY = ("checks", "dashboard", "models/torch_layers.py", "models/ward.py", "media/portraits/painting.py", "values.py")
"""Promises, the address of a page, hooks of torch, examiners of files, brushes, and the one type itself."""


def callbacks(file: Path) -> list[str]:
    """Arguments and fields that are called for their effect alone and do not say `Watch`."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        written = ast.unparse(node.annotation) if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation else ""
        if "Callable[[" in written and "], None]" in written:
            found.append(written)
    return found


def test_everything_long_tells_one_kind_of_watcher():
    files = [path for path in PACKAGE.rglob("*.py") if not any(str(path.relative_to(PACKAGE)).startswith(name) for name in NOT_HEADWAY)]
    assert {str(path): told for path in files if (told := callbacks(path))} == {}
    assert sum("Watch | None" in path.read_text() for path in files) > 10
