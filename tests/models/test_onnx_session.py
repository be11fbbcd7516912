"""The one ONNX session: the only place that opens files, one line for a broken one, portions of a fixed size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import evenhand
from evenhand.contract import Net
from evenhand.errors import InvalidArgument, ModelFailed
from evenhand.models.onnx_session import open_onnx

onnx = pytest.importorskip("onnx")
helper = pytest.importorskip("onnx.helper")
pytest.importorskip("onnxruntime")


def doubler(path: Path, rows: int | str) -> Path:
    """A net that doubles rows of two numbers."""
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (rows, 2)) for name in ("given", "doubled")]
    graph = helper.make_graph([helper.make_node("Add", ["given", "given"], ["doubled"])], "net", [ends[0]], [ends[1]])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
    return path


def test_no_other_module_opens_a_session():
    home = Path(evenhand.__file__).parent
    assert [path.name for path in home.rglob("*.py") if "InferenceSession(" in path.read_text()] == ["onnx_session.py"]


@pytest.mark.parametrize("rows", ["n", 3])
@pytest.mark.parametrize("asked", [1, 3, 7])
def test_any_number_of_inputs_is_answered_whatever_the_file_takes_at_once(tmp_path, rows, asked):
    session = open_onnx(doubler(tmp_path / "net.onnx", rows))
    assert isinstance(session, Net)
    assert session.fixed_rows == (3 if rows == 3 else None)
    given = np.arange(2 * asked, dtype=np.float32).reshape(asked, 2)
    answers = session.portions(given, lambda part: session.run({"given": part})[0], usual=4)
    assert np.array_equal(answers, 2 * given)


def test_a_file_that_is_absent_broken_or_wrongly_fed_says_so_in_one_line(tmp_path):
    with pytest.raises(InvalidArgument, match="cannot be read"):
        open_onnx(tmp_path / "absent.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"no net")
    with pytest.raises(ModelFailed, match=r"^broken\.onnx is not an ONNX file[^\n]*$"):
        open_onnx(tmp_path / "broken.onnx")
    session = open_onnx(doubler(tmp_path / "net.onnx", 3))
    with pytest.raises(ModelFailed, match=r"^net\.onnx: onnxruntime raised [^\n]*$"):
        session.run({"given": np.zeros((2, 5), np.float32)})


def test_a_broken_detector_is_the_models_failure(tmp_path):
    from evenhand.models.recognisers.detectors import OnnxDetector

    (tmp_path / "broken.onnx").write_bytes(b"no net")
    with pytest.raises(ModelFailed, match=r"broken\.onnx is not an ONNX file"):
        OnnxDetector(tmp_path / "broken.onnx").recognise([np.zeros((8, 8, 3), np.uint8)])
