"""How tidy the house is: figures read from the source tree itself, and what the engine costs beside a bare loop.

engine_over_bare        speed of a THEMIS search through the engine, as a share of a NumPy loop that only predicts the twins (1 is as fast)
source_lines            lines of Python in `src/evenhand`, blank ones and comments included
class_names_reused      public class names that are defined at the top of more than one module
file_names_reused       names of Python files that occur more than once, `__init__` and `__main__` aside
tuple_parameters        parameters of functions and fields of classes annotated as a tuple of fixed length whose members differ in type
unreachable_modules     modules that no command, public name, registry or entry point leads to along imports (type checking aside)
modules_outside_layers  modules whose topmost package stands in no layer of the import contract
ignored_imports         imports that the contract of layers is told to overlook
imports_by_string       calls of `import_module` with the literal name of one of the package's own modules
onnx_sessions           places that start an ONNX runtime session
torch_adapters          classes that hold somebody's torch module and answer for it
conformance_kinds       kinds of plug-in whose checks are public (`evenhand.checks.for_...`) and run by `tests/conformance`
media                   media in the registry of media
"""

from __future__ import annotations

import ast
import gc
import importlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from parts.common import options, write_figures

ROOT = Path(__file__).resolve().parents[1]
ANSWERS = {"scores", "logits", "recognise", "detections", "activations"}
"""What a class does that answers for a model."""
LOADING = {ast.If, ast.Import, ast.ImportFrom, ast.Constant}
"""Where it stands which modules are loaded: imports, texts that are programs, and what decides whether they run."""


@dataclass(frozen=True)
class Tree:
    """The package as it is written: every module with its syntax tree."""

    root: Path

    @cached_property
    def files(self) -> dict[str, Path]:
        """Every module by its dotted name."""
        return {_dotted(path.relative_to(self.root.parent)): path for path in sorted(self.root.rglob("*.py"))}

    @cached_property
    def parsed(self) -> dict[str, ast.Module]:
        """The syntax of every module; millions of nodes are made and none is dropped, so that looking for garbage would only cost time."""
        gc.disable()
        try:
            return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in self.files.items()}
        finally:
            gc.enable()

    @cached_property
    def nodes(self) -> dict[str, list[ast.AST]]:
        """Every node of every module's syntax, in no order; several figures are read from them."""
        return {name: list(ast.walk(module)) for name, module in self.parsed.items()}

    def running(self, name: str) -> list[ast.AST]:
        """Every import and every constant of a module that can run: blocks for type checkers are left out."""
        nodes = [node for node in self.nodes[name] if type(node) in LOADING]
        idle = {id(inner) for node in nodes if isinstance(node, ast.If) and _only_for_types(node) for inner in ast.walk(node)}
        return [node for node in nodes if id(node) not in idle]

    def imports(self, name: str) -> set[str]:
        """The package's own modules that this one imports, anywhere, or starts in a process, with the packages around them."""
        found: set[str] = set()
        for node in self.running(name):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Constant):
                found |= _started(node.value)
        around = {module.rsplit(".", depth)[0] for module in found for depth in range(1, module.count(".") + 1)}
        return (found | around) & self.files.keys()

    def reached(self, starts: set[str]) -> set[str]:
        """Every module that these lead to."""
        seen: set[str] = set()
        waiting = [*starts]
        while waiting:
            name = waiting.pop()
            if name in self.files and name not in seen:
                seen.add(name)
                waiting += self.imports(name)
        return seen


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _only_for_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _started(program: object) -> set[str]:
    """Modules that a program for a process of its own imports, such as `from evenhand.models.ward import serve; serve()`."""
    found = re.match(r"from (evenhand[\w.]*) import (\w+)", program) if isinstance(program, str) and "evenhand" in program else None
    return {found[1], f"{found[1]}.{found[2]}"} if found else set()


def class_names_reused(tree: Tree) -> list[str]:
    """Public class names with more than one home."""
    names = [node.name for module in tree.parsed.values() for node in module.body if isinstance(node, ast.ClassDef)]
    return sorted(name for name, times in Counter(names).items() if times > 1 and not name.startswith("_"))


def file_names_reused(tree: Tree) -> list[str]:
    """File names that occur more than once."""
    stems = Counter(path.stem for path in tree.files.values())
    return sorted(stem for stem, times in stems.items() if times > 1 and stem not in ("__init__", "__main__"))


def tuple_parameters(tree: Tree) -> list[str]:
    """Parameters and fields that are tuples of strangers, with their places."""
    found = []
    for name, nodes in tree.nodes.items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                found += [f"{name}.{node.name}({each.arg})" for each in given if each.annotation and _strangers(each.annotation)]
            elif isinstance(node, ast.ClassDef):
                fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
                found += [f"{name}.{node.name}.{ast.unparse(each.target)}" for each in fields if _strangers(each.annotation)]
    return found


def _strangers(annotation: ast.expr) -> bool:
    """Whether this is a tuple of fixed length with members of different types, or may be one."""
    if isinstance(annotation, ast.BinOp):
        return _strangers(annotation.left) or _strangers(annotation.right)
    if not (isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name) and annotation.value.id == "tuple"):
        return False
    members = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    written = {ast.unparse(member) for member in members}
    return "..." not in written and len(written) > 1


def unreachable_modules(tree: Tree) -> list[str]:
    """Modules that nothing leads to which a user can name."""
    starts = {"evenhand", "evenhand.__main__"} | _public_homes(tree) | {name for name in tree.files if name.startswith("evenhand.cli")}
    return sorted(tree.files.keys() - tree.reached(starts | _registered(tree) | _entry_points()))


def _public_homes(tree: Tree) -> set[str]:
    """The modules that the package's public names come from: every string in its `__init__` that names a module."""
    written = {node.value for node in ast.walk(tree.parsed["evenhand"]) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return written | {f"evenhand.{name}" for name in written if name.isidentifier()}


def _entry_points() -> set[str]:
    """The modules by which other tools find the package."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("entry-points", {})
    return {value.partition(":")[0] for group in declared.values() for value in group.values()}


def _registered(tree: Tree) -> set[str]:
    return {entry.module for registry in registries(tree).values() for entry in registry.entries().values()}


def registries(tree: Tree) -> Mapping[str, Any]:
    """Every registry that a package declares at its top, by the kind of its plug-ins."""
    homes = [name for name, path in tree.files.items() if path.stem == "__init__" and "Registry(" in path.read_text(encoding="utf-8")]
    declared = [thing for home in homes for thing in vars(importlib.import_module(home)).values() if type(thing).__name__ == "Registry"]
    return {each.kind: each for each in declared}


def contract_of_layers() -> dict[str, Any]:
    """What `pyproject.toml` says of the layers."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract: dict[str, Any] = settings["tool"]["importlinter"]["contracts"][0]
    return contract


def modules_outside_layers(tree: Tree) -> list[str]:
    """Modules whose topmost package stands in no layer."""
    layered = {word for layer in contract_of_layers()["layers"] for word in re.findall(r"\w+", layer)}
    return sorted(name for name in tree.files if name != "evenhand" and name.split(".")[1] not in layered)


def imports_by_string(tree: Tree) -> list[str]:
    """Modules of the package that import others by their literal names."""
    calls = [(name, node) for name, nodes in tree.nodes.items() for node in nodes if isinstance(node, ast.Call)]
    return [name for name, call in calls if _called(call) == "import_module" and call.args and _own(ast.unparse(call.args[0]))]


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def _own(argument: str) -> bool:
    return re.match(r"f?['\"]evenhand\.\w", argument) is not None


def onnx_sessions(tree: Tree) -> list[str]:
    """Where an ONNX session starts."""
    return [
        name for name, nodes in tree.nodes.items() for node in nodes if isinstance(node, ast.Call) and _called(node) == "InferenceSession"
    ]


def torch_adapters(tree: Tree) -> list[str]:
    """Classes with a field that is a torch module and a method that answers for it."""
    classes = [
        (name, node)
        for name, module in tree.parsed.items()
        for node in module.body
        if isinstance(node, ast.ClassDef) and _holds_module(node)
    ]
    return [
        f"{name}.{node.name}" for name, node in classes if ANSWERS & {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    ]


def _holds_module(node: ast.ClassDef) -> bool:
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    return any(ast.unparse(each.target) == "module" or "nn.Module" in ast.unparse(each.annotation) for each in fields)


def conformance_kinds(tree: Tree) -> list[str]:
    """Kinds of plug-in with public checks that the test suite runs over every registered one."""
    offered = set(re.findall(r"\bfor_(\w+)\b", ast.unparse(tree.parsed["evenhand.checks"])))
    tests = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "conformance").glob("*.py")))
    return sorted(kind for kind in offered if re.search(rf"\bfor_{kind}\(", tests))


def media(tree: Tree) -> list[str]:
    """Names in the registry of media."""
    found = registries(tree).get("medium")
    return sorted(found.entries()) if found else []


def figures() -> dict[str, Any]:
    """Everything that is read from the tree: numbers, and lists of what is counted."""
    tree = Tree(ROOT / "src" / "evenhand")
    lists = {
        measure.__name__: measure(tree)
        for measure in (
            class_names_reused,
            file_names_reused,
            tuple_parameters,
            unreachable_modules,
            modules_outside_layers,
            imports_by_string,
            onnx_sessions,
            torch_adapters,
            conformance_kinds,
            media,
        )
    }
    lists["ignored_imports"] = contract_of_layers().get("ignore_imports", [])
    return {"source_lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in tree.files.values()), **lists}


def main() -> None:
    """Read, measure and write."""
    chosen = options(__doc__ or "")
    read = figures()
    for name, found in read.items():
        if isinstance(found, list):
            print(f"{name}: {', '.join(found) or 'none'}")
    from engine import speed

    numbers = {name: len(found) if isinstance(found, list) else found for name, found in read.items()}
    measured = speed(1_000_000, chosen.seed)
    write_figures({"engine_over_bare": measured["engine_over_bare"], **numbers}, chosen.json)


if __name__ == "__main__":
    main()
