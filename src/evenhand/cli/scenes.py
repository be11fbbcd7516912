"""`evenhand scenes`: class-level fairness of object recognition from the command line.  Reads options, calls `evenhand.scenes`, prints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from evenhand.errors import DataError, EvenhandError, InvalidArgument, UnknownName

if TYPE_CHECKING:
    from evenhand.contract import Recogniser
    from evenhand.media.scene import Scene
    from evenhand.verbs.scene_trials import CampaignOutcome, Workshop

app = typer.Typer(no_args_is_help=True, help="Class-level fairness of object recognition (DistroFair).")


def register(parent: typer.Typer) -> None:
    """Add the commands as `evenhand scenes ...`."""
    parent.add_typer(app, name="scenes")


FORMATS = ("street", "coco", "panoptic", "cityscapes", "cityscapes-ids", "maps", "voc", "pictures")
PAIRS_PER_OPERATOR = 10
JUNCTIONS = ("junction",)  # what a scan without data looks at: many traffic lights, which the planted recogniser loses
RECOGNISERS = (
    "street",
    "street-planted",
    "rekognition",
    "google",
    "azure",
    "an .onnx file",
    "a .yaml file that describes an HTTP endpoint",
)


@contextmanager
def _said() -> Iterator[None]:
    """Errors of this package as one line and exit code 2."""
    try:
        yield
    except EvenhandError as fault:
        typer.echo(f"error: {fault}", err=True)
        raise typer.Exit(2) from fault


@dataclass(frozen=True)
class SceneSource:
    """Where scenes come from."""

    form: str
    pictures: Path | None
    annotations: Path | None
    count: int
    seed: int
    segmenter: Path | None = None


@dataclass(frozen=True)
class Asked:
    """Which recogniser is tested, and what it needs to be told."""

    name: str
    endpoint: str | None = None
    key: str = ""
    names: Path | None = None
    style: str = "yolox"


def _scenes(source: SceneSource) -> list[Scene]:
    from evenhand.datasets.scenes import cityscapes, coco, label_maps, voc
    from evenhand.datasets.scenes.segmenter import Described

    if source.form == "street":
        return _streets(source.count, source.seed, JUNCTIONS)
    if source.count < 1:
        raise InvalidArgument(f"--count {source.count} must be at least 1")
    if source.form not in FORMATS:
        raise UnknownName("format of scenes", source.form, FORMATS)
    if source.form == "pictures":
        return _bare(source)
    if source.pictures is None or source.annotations is None:
        raise InvalidArgument(f"--format {source.form} needs --pictures and --annotations")
    described = Described.from_yaml(source.segmenter) if source.segmenter else None
    read: dict[str, Callable[[Path, Path], Iterator[Scene]]] = {
        "coco": coco.from_coco,
        "panoptic": lambda a, p: coco.from_coco_panoptic(a, a.with_suffix(""), p),
        "cityscapes": lambda a, p: cityscapes.from_polygons(p, a),
        "cityscapes-ids": lambda a, p: cityscapes.from_instance_ids(p, a),
        "maps": lambda a, p: label_maps.from_label_maps(p, a),
        "voc": lambda a, p: voc.from_voc(a, p, described.segmenter if described else None),
    }
    return list(islice(read[source.form](source.annotations, source.pictures), source.count))


def _streets(count: int, seed: int, kinds: tuple[str, ...] | None = None) -> list[Scene]:
    """Synthetic streets of these kinds, or of all usual ones."""
    from evenhand.media.streets.render import StreetMaker

    if count < 1:
        raise InvalidArgument(f"--count {count} must be at least 1")
    maker = StreetMaker(casts=4) if kinds is None else StreetMaker(casts=4, kinds=kinds, most={"person": 9, "car": 8, "traffic light": 6})
    return list(maker.scenes(count, np.random.default_rng(seed)))


def _bare(source: SceneSource) -> list[Scene]:
    """Pictures without annotations, with masks by the user's segmenter."""
    from evenhand.datasets.scenes.segmenter import Described

    if source.pictures is None or source.segmenter is None:
        raise InvalidArgument("--format pictures needs --pictures and --segmenter")
    return list(islice(Described.from_yaml(source.segmenter).scenes(source.pictures), source.count))


def _recogniser(asked: Asked) -> Recogniser:
    from evenhand.models.recognisers import services
    from evenhand.models.recognisers.detectors import COCO_80, OnnxDetector
    from evenhand.models.recognisers.small import StreetRecogniser

    name, endpoint = asked.name, asked.endpoint
    if name in ("street", "street-planted"):
        return StreetRecogniser("planted" if name.endswith("planted") else "plain")
    if name == "rekognition":
        return services.Rekognition(endpoint=endpoint)
    if name == "google":
        return services.GoogleVision(endpoint=endpoint)
    if name == "azure":
        if not endpoint:
            raise InvalidArgument("--recogniser azure needs --endpoint, the address of your resource")
        return services.AzureVision(endpoint, asked.key)
    if name.endswith((".yaml", ".yml")):
        return services.HttpTemplate.from_yaml(_existing(Path(name)))
    if name.endswith(".onnx"):
        listed = _existing(asked.names).read_text(encoding="utf-8").split("\n") if asked.names else ()
        names = tuple(line.strip() for line in listed if line.strip())
        return OnnxDetector(Path(name), names or COCO_80, asked.style)
    raise UnknownName("recogniser", name, RECOGNISERS)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InvalidArgument(f"{path} is not a file")
    return path


@app.command()
def render(folder: Path, count: int = 12, seed: int = 0) -> None:
    """Write synthetic streets as PNG files with COCO annotations."""
    from evenhand.datasets.scenes.picture_files import write_picture
    from evenhand.datasets.scenes.rle import rle_from_mask
    from evenhand.media.streets.render import CLASSES

    with _said():
        images: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for number, scene in enumerate(_streets(count, seed), 1):
            write_picture(folder / "images" / f"{scene.name}.png", scene.picture)
            images.append(
                {"id": number, "file_name": f"{scene.name}.png", "height": scene.shape[0], "width": scene.shape[1], "synthetic": True}
            )
            for one in scene.instances:
                if one.counted:
                    left, top, right, bottom = one.box
                    annotations.append(
                        {
                            "id": len(annotations) + 1,
                            "image_id": number,
                            "category_id": CLASSES.index(one.label) + 1,
                            "iscrowd": 0,
                            "area": one.area,
                            "bbox": [left, top, right - left, bottom - top],
                            "segmentation": rle_from_mask(one.mask(scene.shape)),
                        }
                    )
        categories = [{"id": place + 1, "name": name} for place, name in enumerate(CLASSES)]
        (folder / "instances.json").write_text(
            json.dumps({"images": images, "annotations": annotations, "categories": categories}), encoding="utf-8"
        )
        typer.echo(f"{count} synthetic streets in {folder / 'images'}, annotations in {folder / 'instances.json'}")


@app.command()
def scan(
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("scenes-report"),
    recogniser: Annotated[str, typer.Option(help=f"One of: {', '.join(RECOGNISERS)}.")] = "street-planted",
    form: Annotated[str, typer.Option("--format", help=f"One of: {', '.join(FORMATS)}.")] = "street",
    pictures: Annotated[Path | None, typer.Option(help="Folder of pictures.")] = None,
    annotations: Annotated[Path | None, typer.Option(help="Annotation file or folder.")] = None,
    count: Annotated[int, typer.Option(help="Most scenes to use.")] = 60,
    seed: int = 0,
    endpoint: Annotated[str | None, typer.Option(help="Address of a paid service, instead of its usual one.")] = None,
    key: Annotated[str, typer.Option(envvar="AZURE_VISION_KEY", help="Key of the Azure resource.")] = "",
    names: Annotated[Path | None, typer.Option(help="Class names of an .onnx detector, one in each line; COCO's 80 without.")] = None,
    style: Annotated[str, typer.Option(help="Outputs of an .onnx detector: yolox or boxes.")] = "yolox",
    labels: Annotated[Path | None, typer.Option(help="YAML file with your own synonyms.")] = None,
    classes: Annotated[str, typer.Option(help="Classes to insert, delete and turn, with commas; the paper's without.")] = "",
    segmenter: Annotated[Path | None, typer.Option(help="YAML file that describes an ONNX segmenter, for voc and pictures.")] = None,
    inpainter: Annotated[Path | None, typer.Option(help="ONNX inpainter (LaMa, MI-GAN), tried beside the shifted clone.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a paid service is called.")] = False,
) -> None:
    """Search for classes that a recogniser treats unfairly; exit 0 none found, 1 found."""
    with _said():
        from evenhand.models.recognisers.cache import Kept

        scenes = _scenes(SceneSource(form, pictures, annotations, count, seed, segmenter))
        kept = Kept(_recogniser(Asked(recogniser, endpoint, key, names, style)), out / "answers")
        workshop = _workshop(scenes, seed, SceneWishes(classes, labels, inpainter))
        _confirm(kept, workshop, yes)
        outcome, page, unfair = _run(kept, workshop, out)
        typer.echo(f"{len(outcome.trials)} mutated pictures, {len(outcome.skips)} skips, {kept.asked} questions asked; report: {page}")
        typer.echo(f"treated unfairly: {', '.join(unfair)}" if unfair else "no class is treated unfairly by the exact rule")
    raise typer.Exit(1 if unfair else 0)


def _most(workshop: Workshop) -> int:
    """Mutations that will be tried at most."""
    plan = workshop.campaign
    return len(workshop.scenes) * (len(plan.insert) + 2 * len(plan.change) + 2)


def _confirm(kept: Any, workshop: Workshop, yes: bool) -> None:
    estimate = kept.estimate([scene.picture for scene in workshop.scenes])
    if not estimate.price_per_thousand:
        return
    most = _most(workshop)
    typer.echo(
        f"originals: {estimate}; mutated pictures: at most {most}, about {most * estimate.price_per_thousand / 1000:.2f} USD at list price"
    )
    if not yes and not typer.confirm("Call the paid service?"):
        raise typer.Exit(2)


@dataclass(frozen=True)
class SceneWishes:
    """What the campaign is to use instead of its defaults."""

    classes: str = ""
    labels: Path | None = None
    inpainter: Path | None = None


def _workshop(scenes: list[Scene], seed: int, wishes: SceneWishes) -> Workshop:
    from evenhand.media.operators.parts.inpaint import NetInpainter
    from evenhand.media.vocabulary import Labels
    from evenhand.models.onnx_session import open_onnx
    from evenhand.verbs.scene_trials import Campaign, Workshop

    vocabulary = Labels.from_yaml(_existing(wishes.labels)) if wishes.labels else Labels()
    campaign = Campaign(inpainter=NetInpainter(open_onnx(wishes.inpainter)) if wishes.inpainter else None)
    chosen = tuple(name.strip() for name in wishes.classes.split(",") if name.strip())
    known = {label for scene in scenes for label in scene.truth}
    meant = {vocabulary.canonical(label) for label in known}
    for name in chosen:
        if vocabulary.canonical(name) not in meant:
            raise UnknownName("class of these scenes", name, sorted(known))
    if not chosen and not meant & {*campaign.insert, *campaign.change}:
        raise InvalidArgument(
            f"the scenes show none of the paper's classes ({', '.join(campaign.insert)}); "
            f"choose with --classes among {', '.join(sorted(known)) or 'nothing: they hold no object'}"
        )
    return Workshop(
        scenes, vocabulary, replace(campaign, insert=chosen, change=chosen) if chosen else campaign, np.random.default_rng(seed)
    )


def _run(kept: Any, workshop: Workshop, out: Path) -> tuple[CampaignOutcome, Path, list[str]]:
    from rich.progress import Progress

    from evenhand.report.coco_export import ErrorKeeper, export_coco
    from evenhand.report.scenes_page import content, write
    from evenhand.verbs.scene_trials import examine

    scenes = workshop.scenes
    keeper = ErrorKeeper({scene.name: truth for scene, truth in zip(scenes, workshop.truth, strict=True)})
    with Progress() as progress:
        task = progress.add_task("mutations", total=_most(workshop))
        outcome = examine(kept, kept.name, workshop, keeper, lambda done: progress.update(task, completed=done))
    _refuse_empty(outcome)
    computed = content(outcome, workshop.rng)
    export_coco(out / "errors", keeper.kept)
    page = write(out, computed, keeper.kept)
    unfair = sorted({one["label"] for part in computed["parts"] for one in part["verdicts"] if one["unfair"]})
    return outcome, page, unfair


def _refuse_empty(outcome: CampaignOutcome) -> None:
    """A campaign that could not try anything has found nothing out."""
    if not any(sum(seen.values()) for seen in outcome.originals):
        raise DataError(
            f"{outcome.recogniser!r} recognised no object in any of the {len(outcome.scenes)} original pictures; "
            "look at its least score and at what it expects of a picture"
        )
    if not outcome.trials:
        reasons = "; ".join(f"{reason} ({n})" for reason, n in Counter(one.reason for one in outcome.skips).most_common(3))
        raise DataError(f"no picture could be changed believably: {reasons}. Other pictures, or other --classes, are needed")


@app.command()
def study(folder: Path, count: int = 36, seed: int = 0, port: int = 8765) -> None:
    """Serve the human study on this computer; every participant's answers become a file in the folder."""
    from evenhand.verbs.study import serve

    with _said():
        server = serve(_deck(count, seed), folder, port)
        typer.echo(f"the study is at http://127.0.0.1:{server.server_address[1]}/ (stop with Ctrl-C)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            server.server_close()


@app.command("study-result")
def study_result(folder: Path, seed: int = 0) -> None:
    """The study's statistics from the answer files in the folder."""
    from evenhand.verbs.study import analyse, read_key, read_sheets

    with _said():
        deck = read_key(folder)
        result = analyse(deck, read_sheets(folder, deck), np.random.default_rng(seed))
        typer.echo(f"{result.valid} of {result.sheets} answer sheets are valid")
        for name, means in (("realism", result.realism), ("likelihood", result.likelihood)):
            typer.echo(f"{name}: " + ", ".join(f"{kind} {value:.2f}" for kind, value in sorted(means.items())))
        if result.test is not None:
            typer.echo(
                f"mutated pictures are {result.realism_of_real:.1%} as realistic as real ones "
                f"(Mann-Whitney p = {result.test.p_value:.3g}), and {result.likelihood_of_real:.1%} as likely to occur"
            )


def _deck(count: int, seed: int) -> Any:
    """The study's slides: ten mutations of each operator and their originals, as many as can be made."""
    from evenhand.media.operators.parts.mutated import OPERATORS, Mutation
    from evenhand.media.vocabulary import Labels
    from evenhand.verbs.scene_trials import Campaign, Workshop
    from evenhand.verbs.study import slides

    rng = np.random.default_rng(seed)
    scenes = _streets(count, seed)
    chosen: list[Mutation] = []
    for operator in OPERATORS:
        campaign = Campaign(insert=("person", "car", "dog"), change=("person", "car"), operators=(operator,), controls=False)
        workshop = Workshop([scenes[k] for k in rng.permutation(len(scenes))], Labels(), campaign, rng)
        seen = list(workshop.truth)
        made = (one for _, one, _ in workshop.mutations(seen, workshop.ranges(seen)) if isinstance(one, Mutation))
        found = list(made)
        chosen += [found[k] for k in rng.permutation(len(found))[:PAIRS_PER_OPERATOR]]
    return slides(chosen, rng, len(chosen))
