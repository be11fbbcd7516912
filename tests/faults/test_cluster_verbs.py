"""Every verb on a real Dask cluster, a scheduler and two workers as processes of their own, says what one process says.

The cluster's files in docs/ are looked through, and their own commands are what starts the processes here.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from tests.command import evenhand

pytest.importorskip("distributed")
pytestmark = [pytest.mark.skipif(os.name != "posix", reason="commands of a shell")]

FILES = Path(__file__).parents[2] / "docs" / "cluster"
TIMES = re.compile(r"[\d.,]+ (CPU-)?seconds|\d{4}-\d\d-\d\dT[\d:]+\+00:00")
UNEQUAL = ("date", "command", "seconds", "cpu", "wall", "time", "workers", "created", "folder", "speed", "id")


def environment(**more):
    here = str(Path(sys.executable).parent)
    path = os.pathsep.join([here, os.environ["PATH"]])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PATH": path, "OMP_NUM_THREADS": "1", **more}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def kubernetes():
    return list(yaml.safe_load_all((FILES / "kubernetes.yaml").read_text(encoding="utf-8")))


def deployment(name):
    return next(part for part in kubernetes() if part["kind"] == "Deployment" and part["metadata"]["name"] == name)


def container(name):
    (found,) = deployment(name)["spec"]["template"]["spec"]["containers"]
    return found


@pytest.fixture(scope="module")
def address():
    """The commands of the Kubernetes file, with an address of this machine for the name of the service."""
    port = free_port()
    named = {"tcp://evenhand-scheduler:8786": f"tcp://127.0.0.1:{port}", "8786": str(port)}
    started = []
    for name in ("evenhand-scheduler", "evenhand-worker", "evenhand-worker"):
        words = [named.get(word, word) for word in container(name)["command"]]
        started.append(subprocess.Popen(words, env=environment(), stderr=subprocess.DEVNULL, start_new_session=True))
    yield f"tcp://127.0.0.1:{port}"
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A small table with a forest."""
    import skops.io
    from sklearn.ensemble import RandomForestClassifier

    import evenhand as eh

    folder = tmp_path_factory.mktemp("project")
    data = eh.datasets.load("credit", coding="papers").protect("sex")
    frame = data.frame[[*data.domain.names, data.domain.label.column]].iloc[:300]
    frame.to_csv(folder / "people.csv", index=False)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(frame[list(data.domain.names)], frame[data.domain.label.column])
    skops.io.dump(forest, folder / "model.skops")
    columns = {each.name: {"kind": "integer", "low": int(each.low), "high": int(each.high)} for each in data.domain.columns}
    label = {"column": data.domain.label.column, "values": list(data.domain.label.values), "favourable": list(data.domain.label.favourable)}
    told = {"version": 1, "columns": columns, "protected": ["sex"], "label": label, "data": "people.csv", "model": "model.skops"}
    (folder / "evenhand.yaml").write_text(yaml.safe_dump(told, sort_keys=False))
    (folder / "night.yaml").write_text("data: evenhand.yaml\nmethods: [themis, aequitas]\nseeds: 2\nbudgets: {candidates: 400}\n")
    return folder


def ran(project, place, words):
    """A command in a copy of the project."""
    shutil.copytree(project, place)
    done = evenhand(*words, cwd=place)
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr
    return done


def plain(told):
    """A result without what says when and by whom it was made."""
    if isinstance(told, dict):
        return {name: plain(part) for name, part in told.items() if not any(word in name for word in UNEQUAL)}
    if isinstance(told, list):
        return [plain(part) for part in told]
    return TIMES.sub("then", told) if isinstance(told, str) else told


def told(place, done):
    """What a command says, in its file or to a pipe."""
    file = place / "told.json"
    return plain(json.loads(file.read_text() if file.exists() else done.stdout))


COMMANDS = {
    "scan": ["scan", "-m", "themis", "--candidates", "1200", "--json"],
    "measure": ["measure", "--json"],
    "repair": ["repair", "-r", "reweigh", "--seeds", "2", "--json"],
    "certify": ["certify", "--boxes", "3000", "--json"],
    "bench": [
        *("bench", "themis", "aequitas", "--dataset", "evenhand.yaml", "--model", "project", "--seed", "0", "--seed", "1"),
        *("--candidates", "400", "--no-likeness", "--json", "told.json"),
    ],
    "campaign": ["campaign", "night.yaml", "--json"],
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_cluster_says_what_one_process_says(verb, address, project, tmp_path):
    alone = ran(project, tmp_path / "alone", [*COMMANDS[verb], "--workers", "1"])
    shared = ran(project, tmp_path / "shared", [*COMMANDS[verb], "--cluster", address])
    assert shared.returncode == alone.returncode
    assert told(tmp_path / "shared", shared) == told(tmp_path / "alone", alone)


@pytest.mark.slow
def test_rows_that_a_cluster_learnt_to_make_are_those_of_one_process(address, project, tmp_path):
    for name, who in (("alone", ["--workers", "1"]), ("shared", ["--cluster", address])):
        ran(project, tmp_path / name, ["synth", "people.csv", "--rows", "500", "--out", "made.csv", *who])
    pd.testing.assert_frame_equal(*(pd.read_csv(tmp_path / name / "made.csv") for name in ("alone", "shared")))


def test_the_kubernetes_file_names_what_it_starts():
    parts = kubernetes()
    assert [part["kind"] for part in parts] == ["Service", "Deployment", "Deployment"]
    (service,) = [part for part in parts if part["kind"] == "Service"]
    for part in parts[1:]:
        template = part["spec"]["template"]
        assert part["apiVersion"] == "apps/v1"
        assert part["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
        (each,) = template["spec"]["containers"]
        assert each["image"]
        assert all(isinstance(word, str) for word in each["command"]), "a command is made of texts"
        assert all(isinstance(one["value"], str) for one in each.get("env", ())), "a variable is a text"
    assert service["spec"]["selector"] == deployment("evenhand-scheduler")["spec"]["template"]["metadata"]["labels"]
    port = service["spec"]["ports"][0]["port"]
    assert container("evenhand-scheduler")["ports"] == [{"containerPort": port}]
    assert f"tcp://{service['metadata']['name']}:{port}" in container("evenhand-worker")["command"]


def test_the_slurm_file_is_a_script_whose_options_stand_before_its_first_command():
    lines = (FILES / "slurm.sh").read_text(encoding="utf-8").splitlines()
    subprocess.run(["bash", "-n", str(FILES / "slurm.sh")], check=True)
    first = next(place for place, line in enumerate(lines) if line and not line.startswith("#"))
    options = [place for place, line in enumerate(lines) if line.startswith("#SBATCH ")]
    assert options
    assert max(options) < first, "SLURM reads no option after the first command"
    assert all(re.fullmatch(r"#SBATCH --[a-z-]+(=\S+)?", lines[place]) for place in options)


SRUN = """#!/bin/bash
tasks=1
while [[ $1 == -* ]]; do
  [[ $1 == --ntasks=* ]] && tasks=${1#--ntasks=}
  shift
done
for ((task = 0; task < tasks; task++)); do "$@" & done
trap 'kill $(jobs -p) 2> /dev/null' TERM
wait
"""


@pytest.mark.slow
def test_the_slurm_script_makes_the_campaign_with_processes_in_place_of_its_tasks(project, tmp_path):
    alone = ran(project, tmp_path / "alone", ["campaign", "night.yaml", "--json"])
    place, tools = tmp_path / "job", tmp_path / "tools"
    shutil.copytree(project, place)
    tools.mkdir()
    (tools / "srun").write_text(SRUN)
    (tools / "evenhand").write_text(f'#!/bin/bash\nexec {sys.executable} -m evenhand "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    told = environment(SLURM_NTASKS="4", SLURM_JOB_ID=str(free_port()), SLURMD_NODENAME="127.0.0.1")
    told["PATH"] = os.pathsep.join([str(tools), told["PATH"]])
    job = subprocess.Popen(["bash", str(FILES / "slurm.sh"), "night.yaml"], cwd=place, env=told, start_new_session=True)
    try:
        assert job.wait(timeout=1500) == alone.returncode
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
    assert (place / "night.html").exists()
    columns = ["method", "seed", "findings", "candidates", "findings_digest"]
    made, whole = (pd.read_parquet(folder / "night-runs" / "records.parquet")[columns] for folder in (place, tmp_path / "alone"))
    pd.testing.assert_frame_equal(made, whole)
