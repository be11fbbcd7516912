"""Steady properties, and caches that no other run shares."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))  # what only a paper's tables need stands outside the package

# Where Python is told to keep no compiled modules, each of the many processes of a run would compile the package: they share a folder.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).resolve().parents[1] / ".pytest_cache" / "compiled")

# The same examples every time, so that a green run stays green; HYPOTHESIS_PROFILE=wide looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.register_profile("wide", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory):
    """Models that tests train, and the secret of their seals, are kept for this run only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENHAND_CACHE", str(tmp_path_factory.mktemp("evenhand-cache")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("evenhand-state")))
        yield
