"""The shell proposes commands, options and the names that an option takes, in bash itself."""

import shutil
import subprocess

import pytest

from evenhand.cli import completion

ASK = """
eval "$(_EVENHAND_COMPLETE=source_bash evenhand)"
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=(); _evenhand_completion evenhand; echo "${COMPREPLY[*]}"; }
"""


@pytest.mark.parametrize(
    ("proposed", "begun", "wanted"),
    [
        (completion.method_names, "ad", ["adf"]),
        (completion.oracle_names, "fl", ["flip"]),
        (completion.study_names, "accu", ["accuracy"]),
        (completion.repair_names, "rew", ["reweigh"]),
        (completion.one_of("flips", "groups"), "g", ["groups"]),
    ],
)
def test_names_come_from_the_registries(proposed, begun, wanted):
    assert proposed(begun) == wanted


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("evenhand") is None, reason="needs bash and the installed command")
def test_bash_proposes_commands_options_and_names():
    script = ASK + "ask evenhand me; ask evenhand scan --me; ask evenhand scan --method ad; ask evenhand demo t"
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert told == ["measure methods", "--method", "adf", "table text"]
