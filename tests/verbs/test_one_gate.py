"""One gate: a claim has three ends, and no other module makes an outcome."""

import ast
from pathlib import Path

import pytest

import evenhand
from evenhand.claims import Claim, Span
from evenhand.engine.gate import Gate

PACKAGE = Path(evenhand.__file__).parent
WORDS = {"violation", "inconclusive"}
MAY_NAME = {
    "values.py": "the type of an outcome",
    "engine/gate.py": "the gate itself",
    "report": "renderings, and what results of version 1 had decided",
    "cli/output.py": "exit codes",
    "checks": "promises that results are checked by",
    "dashboard": "renderings",
}
BETWEEN, BEYOND, WITHIN = Span(0.0, 0.2, 0.1), Span(0.15, 0.2, 0.1), Span(0.0, 0.1, 0.1)


@pytest.mark.parametrize(
    ("spans", "outcome", "reason"),
    [
        ((WITHIN,), "pass", "well"),
        ((WITHIN, BETWEEN), "inconclusive", "unclear"),
        ((BETWEEN, BEYOND), "violation", "ill"),
    ],
)
def test_spans_decide_whatever_the_words(spans, outcome, reason):
    ruling = Gate.rule(Claim("a", "ill", "unclear", "well", spans))
    assert (ruling.outcome, ruling.reason) == (outcome, reason)


def test_without_spans_the_words_decide():
    assert Gate.rule(Claim("a", "ill", "unclear", "well")).outcome == "violation"
    assert Gate.rule(Claim("a", open="unclear", holds="well")).outcome == "inconclusive"
    assert Gate.rule(Claim("a", holds="well")).outcome == "pass"


def test_what_could_not_be_looked_at_never_passes():
    claim = Claim("a", holds="well", failed="it broke")
    assert Gate.check(claim).outcome == "failed"
    assert Gate.rule(claim).outcome == "inconclusive"


def made_outcomes(file: Path) -> list[int]:
    """Lines that name an outcome otherwise than to compare with it or to look up a word for it."""
    text = file.read_text()
    if not any(word in text for word in WORDS):
        return []
    tree = ast.parse(text)
    compared = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Compare) for part in ast.walk(node)}
    compared |= {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in WORDS and id(node) not in compared]


def test_no_other_module_makes_an_outcome():
    files = [path for path in PACKAGE.rglob("*.py") if not any(str(path.relative_to(PACKAGE)).startswith(name) for name in MAY_NAME)]
    assert len(files) > 400
    assert {str(path.relative_to(PACKAGE)): lines for path in files if (lines := made_outcomes(path))} == {}
