"""What evenhand.yaml may hold, as data models: unknown keys are refused, values keep their types.

Whether names and values fit each other is checked where the domain is built, not here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, WithJsonSchema

from evenhand.domain.columns import Kind

Cell = StrictBool | StrictInt | StrictFloat | StrictStr
Number = StrictInt | StrictFloat
Positive = Annotated[StrictInt, Field(gt=0)] | Annotated[StrictFloat, Field(gt=0)]
AtLeastZero = Annotated[StrictInt, Field(ge=0)] | Annotated[StrictFloat, Field(ge=0)]
Share = Annotated[StrictInt, Field(ge=0, le=1)] | Annotated[StrictFloat, Field(ge=0, le=1)]
InnerShare = Annotated[StrictFloat, Field(gt=0, lt=1)]

_RULE_SCHEMA: dict[str, Any] = {
    "description": "A rule such as `age >= 18`, allowed or forbidden combinations, or a functional dependency.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["columns"],
            "properties": {
                "columns": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "allowed": {"type": "array", "items": {"type": "array"}},
                "forbidden": {"type": "array", "items": {"type": "array"}},
                "determines": {"type": "string"},
                "map": {"type": ["object", "array"]},
            },
        },
    ],
}
_METHOD_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string"}, {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": {"type": "object"}}]
}
Rule = Annotated[Any, WithJsonSchema(_RULE_SCHEMA)]
MethodEntry = Annotated[StrictStr | dict[StrictStr, dict[StrictStr, Any]], WithJsonSchema(_METHOD_SCHEMA)]


class SchemaSection(BaseModel):
    """The base of all sections: no unknown keys."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class LabelSection(SchemaSection):
    """The column that the model predicts: classes with `values`, or an amount with a `unit`."""

    column: StrictStr
    values: list[Cell] | None = Field(default=None, min_length=2, description="Needed for a table; a medium reads them from its data.")
    favourable: list[Cell] = Field(default_factory=list, description="The outcomes that a person hopes for.")
    unit: StrictStr | None = Field(default=None, description="Makes it an amount, such as EUR; empty, or left out beside a tolerance.")
    tolerance: AtLeastZero | None = Field(default=None, description="How far two amounts may be apart, in the unit.")
    share: AtLeastZero | None = Field(default=None, description="The same as a share of the larger amount.")


class ColumnSection(SchemaSection):
    """What a cell of one column may be."""

    kind: Kind
    values: list[Cell] = Field(default_factory=list, description="Of category, ordinal (in order) and boolean columns.")
    low: Number | str | None = Field(default=None, description="The smallest value of numbers; the first day, as text, of dates.")
    high: Number | str | None = Field(default=None, description="The largest value of numbers; the last day, as text, of dates.")
    missing: Number = Field(default=0.0, description="The share of missing cells; 0 means that none may be missing.")
    dtype: StrictStr = Field(default="", description="The pandas dtype that the model expects.")


class CompareSection(SchemaSection):
    """Which values of a protected column are compared."""

    values: list[Cell] = Field(default_factory=list)
    bins: list[Number] = Field(default_factory=list, description="Ascending borders; each bin is represented by its middle.")


class ImpliedSection(SchemaSection):
    """What else changes when a protected column changes from one value to another."""

    column: StrictStr
    source: Cell = Field(alias="from")
    target: Cell = Field(alias="to")
    changes: dict[StrictStr, dict[Cell, Cell]]
    learnt: StrictBool = Field(default=False, description="Whether this was learnt from data rather than known; every result says so.")


class TwinsSection(SchemaSection):
    """How the twins of a person are made."""

    compare: dict[StrictStr, CompareSection] = Field(default_factory=dict)
    implied: list[ImpliedSection] = Field(default_factory=list)


class DataSection(SchemaSection):
    """The table, beside this file."""

    path: StrictStr
    delimiter: StrictStr | None = None
    encoding: StrictStr = "utf-8"
    missing_values: list[StrictStr] | None = Field(default=None, description="CSV cells that are missing, such as ['', '?'].")


class MediumSection(BaseModel):
    """What a row shows where it is no line of a table; beside `kind` stand the settings of that kind."""

    model_config = ConfigDict(extra="allow")

    kind: StrictStr = Field(description="album, portraits, scenes or text.")


class HttpSection(SchemaSection):
    """How an endpoint is spoken to."""

    preset: Literal["dataframe_split", "dataframe_records", "kserve_v2", "sagemaker_csv", "sagemaker_json", "vertex"] | None = Field(
        default=None, description="The documented format of a server; decides what request, answer and rows_as leave open."
    )
    request: Any = None
    answer: StrictStr | None = None
    rows_as: Literal["records", "lists", "codes"] | None = None
    headers: dict[StrictStr, StrictStr] | None = None
    batch_rows: StrictInt | None = Field(default=None, ge=1)
    concurrency: StrictInt | None = Field(default=None, ge=1)
    timeout_seconds: Positive | None = None
    retries: StrictInt | None = Field(default=None, ge=0)
    backoff_seconds: AtLeastZero | None = None
    requests_per_second: Positive | None = None
    cache: StrictStr | None = None


class PrepareSection(SchemaSection):
    """How pictures become a network's input: (value * scale - mean) / deviation for each colour."""

    size: StrictInt | None = Field(default=None, ge=1, description="Side of the square that it takes, where it is another.")
    scale: Positive | None = None
    mean: list[float] | None = Field(default=None, min_length=3, max_length=3)
    deviation: list[float] | None = Field(default=None, min_length=3, max_length=3)
    channels_first: StrictBool | None = None
    blue_first: StrictBool | None = None
    grey: StrictBool | None = None


class ObjectsSection(SchemaSection):
    """How a recogniser of objects is used."""

    names: list[StrictStr] | None = Field(
        default=None, description="Classes of a detector, in the order of its numbers; COCO's 80 without."
    )
    style: Literal["auto", "yolox", "yolo", "detr", "boxes", "torchvision", "ssd", "tensorflow", "efficientdet"] | None = Field(
        default=None, description="How an .onnx detector takes pictures and tells boxes; found out without."
    )
    first_label: StrictInt | None = Field(default=None, ge=0)
    least: Positive | None = Field(default=None, lt=1, description="The least score of an object that counts.")
    overlap: Positive | None = Field(default=None, lt=1)
    endpoint: StrictStr | None = Field(default=None, description="A service's address; stand-in for a local trial without a bill.")
    key: StrictStr | None = Field(default=None, description="${NAME} stands for an environment variable.")
    cache: StrictStr | None = Field(default=None, description="A folder where answers are kept.")
    unboxed: StrictBool | None = Field(default=None, description="Whether what a service says of the whole picture counts as an object.")
    batch: StrictInt | None = Field(default=None, ge=0, description="Most pictures that a function takes at once; 0 for one at a time.")


class ModelSection(SchemaSection):
    """The model under test: a file, an endpoint, a recogniser's name or package.module:name."""

    path: StrictStr | None = None
    url: StrictStr | None = None
    trusted: StrictBool = Field(default=False, description="Whether loading it may run code (pickle, joblib, torch files).")
    takes: Literal["frame", "matrix", "codes", "codes_frame"] | None = None
    returns: Literal["label", "labels", "probability", "favourable", "logit", "percent", "score", "scores", "amount", "counts"] | None = (
        Field(default=None, description="What the model says, where that is not plain.")
    )
    threshold: Number | StrictStr | None = Field(
        default=None, description="From which number on the answer is the class that it speaks for; or 'best 100', 'best 10%'."
    )
    classes: list[Cell] | None = None
    output: StrictInt | None = Field(default=None, ge=0, description="Which label or amount, where the model predicts several at once.")
    http: HttpSection | None = None
    prepare: PrepareSection | None = None
    objects: ObjectsSection | None = None


class BudgetSection(SchemaSection):
    """Limits that hold together; the first one reached ends the run."""

    candidates: StrictInt | None = Field(default=None, ge=1)
    model_rows: StrictInt | None = Field(default=None, ge=1)
    seconds: Positive | None = None


class ScanSection(SchemaSection):
    """How the model is searched."""

    methods: list[MethodEntry] = Field(default_factory=list)
    budget: BudgetSection | None = None
    seed: StrictInt = Field(default=0, ge=0)
    population: StrictStr | None = None
    runs: StrictStr = "runs"
    rate_rows: StrictInt | None = Field(default=None, ge=1)


class GroupLimitSection(SchemaSection):
    """What is tolerated in one group measure."""

    most: Number | None = Field(default=None, description="A gap of at most so much.")
    least: Number | None = Field(default=None, description="A ratio of at least so much.")
    by: StrictStr | None = Field(default=None, description="One protected attribute; without it, every one.")


class WaiverSection(SchemaSection):
    """A violation that somebody answers for, until a day."""

    of: StrictStr = Field(description="The id of a witness, or a condition's name as the gate prints it.")
    owner: StrictStr = Field(min_length=1)
    reason: StrictStr = Field(min_length=1)
    expires: StrictStr = Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="The last day, as 2027-01-31.")


class GateSection(SchemaSection):
    """When a result passes.  All thresholds are engineering tolerances."""

    max_rate: Share = 0.0
    confidence: InnerShare = 0.95
    resolution: Share = 0.001
    groups: dict[StrictStr, Number | GroupLimitSection | list[GroupLimitSection]] = Field(
        default_factory=dict,
        description="Group measures by name, such as statistical_parity: 0.1 or disparate_impact: {least: 0.8, by: sex}.",
    )
    classes: list[StrictStr] = Field(default_factory=lambda: ["all"], description="Of scenes, the classes of objects whose verdicts count.")
    worst_gap: Share | None = Field(default=None, description="The widest gap of scores between two twins among the real rows.")
    witnesses: StrictStr | None = Field(default=None, description="A folder of kept pairs that `evenhand gate` asks again first.")
    baseline: StrictStr | None = Field(default=None, description="An earlier result; only what is new or worse fails.")
    waivers: list[WaiverSection] = Field(default_factory=list)


def _as_data(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


def _as_medium(value: object) -> object:
    return {"kind": value} if isinstance(value, str) else value


def _as_model(value: object) -> object:
    if isinstance(value, str):
        return {"url" if value.startswith(("http://", "https://")) else "path": value}
    return value


class ProjectFile(SchemaSection):
    """The whole file: the domain or the medium that makes it, and optionally the data, the model, the scan and the gate."""

    version: Literal[1]
    label: LabelSection | None = None
    protected: list[StrictStr] = Field(default_factory=list)
    medium: Annotated[MediumSection | None, BeforeValidator(_as_medium, json_schema_input_type=StrictStr | MediumSection | None)] = None
    columns: dict[StrictStr, ColumnSection] | None = Field(
        default=None, min_length=1, description="Needed for a table; a medium makes its own."
    )
    twins: TwinsSection = Field(default_factory=TwinsSection)
    constraints: list[Rule] = Field(default_factory=list)
    relations: list[Rule] | None = Field(
        default=None, description="Rules that made-up rows keep by computing; with this key, no others are looked for in the data."
    )
    oracle: MethodEntry | None = Field(default=None, description="What counts as unfair; `evenhand methods` lists the oracles.")
    data: Annotated[DataSection | None, BeforeValidator(_as_data, json_schema_input_type=StrictStr | DataSection | None)] = None
    model: Annotated[ModelSection | None, BeforeValidator(_as_model, json_schema_input_type=StrictStr | ModelSection | None)] = None
    scan: ScanSection = Field(default_factory=ScanSection)
    gate: GateSection = Field(default_factory=GateSection)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of evenhand.yaml, for editors."""
    schema = ProjectFile.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "evenhand.yaml"}


def known_keys(path: tuple[object, ...]) -> list[str]:
    """The keys that the section at a path may have."""
    section: type[BaseModel] | None = ProjectFile
    for step in path:
        field = section.model_fields.get(str(step)) if section else None
        if field is not None:
            section = _section_in(field.annotation)
    return [field.alias or name for name, field in section.model_fields.items()] if section else []


def _section_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section_in(part))), None)
