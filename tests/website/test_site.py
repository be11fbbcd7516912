"""The site: every block on it runs, and it is built strictly, without the network."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def load():
    spec = importlib.util.spec_from_file_location("page_blocks", ROOT / "scripts" / "page_blocks.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["page_blocks"] = module
    spec.loader.exec_module(module)
    return module


BLOCKS = load()


@pytest.mark.parametrize("page", BLOCKS.pages(), ids=lambda page: page.stem)
def test_everything_that_the_page_shows_runs(page):
    done = subprocess.run([sys.executable, ROOT / "scripts" / "page_blocks.py", page], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_a_block_without_a_language_is_refused():
    assert [str(block) for page in BLOCKS.pages() for block in BLOCKS.blocks_of(page) if not block.language] == []


def test_the_site_is_built_strictly(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert (tmp_path / "reference" / "python.html").exists()
    assert "evenhand scan" in (tmp_path / "reference" / "commands.html").read_text()
    fetched = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="https?://(?!127\.0\.0\.1)')
    assert [page.name for page in tmp_path.rglob("*.html") if fetched.search(page.read_text())] == []
    assert "assets/offline-search.js" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize("text", ["```yaml\na: 1\n```\n", "```bash\nfalse\n```\n", "```python\nassert False\n```\n"])
def test_a_page_that_is_wrong_is_noticed(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError):
        BLOCKS.follow(page)
