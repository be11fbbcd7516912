"""Whatever Evenhand writes appears whole or not at all, says so in one line when it cannot, and notices what was changed since."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand.checks import standard_subject
from evenhand.engine import witness
from evenhand.engine.exhibits import check_pictures, picture_sums
from evenhand.engine.header import header_of
from evenhand.engine.run import Plan, run
from evenhand.engine.shrunk_findings import Hearing
from evenhand.engine.store import RunFolder
from evenhand.errors import StoreError
from evenhand.media.png import data_uri
from evenhand.methods.themis import Themis
from evenhand.models import saving
from evenhand.models.budget import Budget
from evenhand.models.composed import Masked
from evenhand.models.dense import DenseNet

SOURCE = Path(__file__).parents[1] / "src" / "evenhand"
SUBJECT = standard_subject()

BARE_WRITES = re.compile(
    r"\.write_text\(|\.write_bytes\(|open\([^)]*[\"'][wax]b?[\"']|np\.savez?\(|\.to_csv\(|\.to_parquet\(|imwrite\(|torch\.save\(|skops\.io\.dump\("
)
WHOLE = re.compile(r"whole_file|write_whole|\bnew\b|\btemporary\b|fdopen|^\s*(>>>|\.\.\.) ")  # or an example in a docstring
KNOWN = {
    "dashboard/commands.py",  # what a command prints, while it prints
    "synthesis/population_files.py",  # into memory
    "synthesis/chunks.py",  # into the temporary file of a stream
    "models/zoo.py",  # through its own whole_file
    "models/dense.py",
    "synthesis/learning.py",
    "campaign/executors/parts/parcel.py",  # into a private folder that ends with the work
}


def test_nothing_is_written_past_disk() -> None:
    bare = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.name != "disk.py" and str(path.relative_to(SOURCE)) not in KNOWN
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BARE_WRITES.search(line) and not WHOLE.search(line)
    ]
    assert not bare, "write through evenhand.disk:\n" + "\n".join(bare)


def a_run(base: Path) -> RunFolder:
    """A finished run in its folder."""
    plan, method = Plan(3, Budget(candidates=200)), Themis(margin=0.0, batch=100)
    folder = RunFolder.for_header(base, header_of("scan", SUBJECT, "planted", plan).for_run(method))
    folder.finish(run(method, SUBJECT, plan, folder).as_dict())
    return folder


def test_every_flip_in_a_log_is_noticed(tmp_path: Path) -> None:
    folder = a_run(tmp_path)
    file = folder.path / "log.jsonl"
    whole = file.read_bytes()
    assert [event["event"] for event in folder.events()][-1] == "finished"
    for bit in range(0, 8 * len(whole), 3):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        with pytest.raises(StoreError, match=r"log\.jsonl"):
            folder.events()


def test_a_line_that_was_cut_off_has_not_happened(tmp_path: Path) -> None:
    folder = a_run(tmp_path)
    file = folder.path / "log.jsonl"
    whole = folder.events()
    with file.open("ab") as log:
        log.write(b'{"time": "2020-01-0')
    assert folder.events() == whole
    folder.log("resumed")
    assert [event["event"] for event in folder.events()] == [*(event["event"] for event in whole), "resumed"], "and spoils none after it"
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    folder.log("finished")
    assert [event["event"] for event in folder.events()][-2:] == ["resumed", "finished"], "a whole line without its end stays"


def test_a_changed_picture_beside_a_witness_is_noticed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pictures = {side: data_uri(rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)) for side in ("person", "twin")}
    found = run(Themis(margin=0.0), SUBJECT, Plan(0, Budget(candidates=300))).findings[:1]
    made = witness.witnesses_of(found, SUBJECT.rows, Hearing(SUBJECT.domain, SUBJECT.model, Plan(0, Budget(candidates=1)).oracle))[0]
    kept = witness.save(type(made)(**{**made.__dict__, "pictures": pictures}), tmp_path)
    assert witness.load(kept).pictures == pictures
    shown = tmp_path / f"{made.id}-twin.png"
    shown.write_bytes(shown.read_bytes()[:-1] + b"\0")
    with pytest.raises(StoreError, match="the picture of the twin beside it is damaged"):
        witness.load(kept)
    check_pictures({"person": "gone.png"}, picture_sums(pictures), kept)  # a file that is gone leaves its name


def mended() -> Masked:
    """A model around another one."""
    rng = np.random.default_rng(0)
    size = len(SUBJECT.domain.columns)
    net = DenseNet((rng.normal(size=(size, 2)),), (np.zeros(2),), SUBJECT.model.classes)
    return Masked(net, (0,), (0.0,))


def test_a_changed_file_of_a_saved_model_is_noticed(tmp_path: Path) -> None:
    folder = saving.save(mended(), tmp_path / "model")
    assert isinstance(saving.load(folder, SUBJECT.domain), Masked)
    inner = folder / "model" / "model.npz"
    content = bytearray(inner.read_bytes())
    content[len(content) // 2] ^= 1
    inner.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged: its checksum is not the one in"):
        saving.load(folder, SUBJECT.domain)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits of file sizes")
def test_a_full_disk_leaves_nothing_by_half_and_one_line(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == 3, done.stdout
    assert all(line.startswith(("cannot write", "StoreError")) or "could not be written" in line for line in told), told
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix not in (".lock", "") and path.name != "lock"]


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, "tests")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from evenhand.errors import EvenhandError
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.models import saving
from evenhand.campaign.campaign_folder import CampaignFolder
from test_whole_files import mended

home = Path(sys.argv[1])
model, noise = mended(), np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for work in (
    lambda: saving.save(model, home / "model"),
    lambda: write_picture(home / "noise.png", noise),
    lambda: CampaignFolder(home / "campaign").keep({"id": "a", "text": "x" * 1000}),
):
    try:
        work()
    except EvenhandError as fault:
        print(" ".join(str(fault).split()))
"""
