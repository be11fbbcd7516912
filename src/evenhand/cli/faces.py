"""`evenhand faces`: synthetic portraits, the whole image chain with its report, and CycleGAN editors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.output import BY_OUTCOME, PASS, VIOLATION, err, free_path, out, say_json
from evenhand.errors import InvalidArgument, require

if TYPE_CHECKING:
    from numpy.random import Generator

    from evenhand.contract import Editor, PictureModel
    from evenhand.media.album import Album
    from evenhand.media.editors.editor import Jury
    from evenhand.models.preparation import Preparation
    from evenhand.verbs.examine_pictures import PictureRule

app = typer.Typer(name="faces", help="Test image classifiers on pairs of faces that differ in one attribute.", no_args_is_help=True)


def register(parent: typer.Typer) -> None:
    """Mount the sub-commands."""
    parent.add_typer(app)


@app.command("draw")
def draw(
    count: int = typer.Option(40, min=1, help="How many portraits."),
    size: int = typer.Option(128, min=16, max=1024, help="Side of a portrait in pixels."),
    columns: int = typer.Option(8, min=1, help="Portraits per row of the sheet."),
    output: Path = typer.Option(Path("faces.png"), "--out", "-o", help="A .png file; an existing one is kept."),
    vary: str | None = typer.Option(None, help="Draw each portrait once per value of this listed factor, such as tone."),
    seed: int = typer.Option(0, help="The same seed gives the same portraits."),
) -> None:
    """Draw a sheet of synthetic portraits."""
    import numpy as np

    from evenhand.media.png import sheet, write_png
    from evenhand.media.portraits import changed, draw_factors, factor, render

    factors = draw_factors(count, np.random.default_rng(seed))
    if vary is not None:
        known = factor(vary)
        if not known.is_listed:
            raise InvalidArgument(f"--vary {vary!r} must be a listed factor, such as tone, gender_cue or glasses")
        factors = np.concatenate(
            [
                changed(factors[i : i + 1].repeat(len(known.values), 0), vary, np.arange(len(known.values), dtype=np.float64))
                for i in range(count)
            ]
        )
        columns = len(known.values)
    path = free_path(output)
    write_png(path, sheet(render(factors, size), columns, gap=2))
    out.print(f"{len(factors)} synthetic portraits in {path}")


@app.command("demo")
def demo(
    folder: Path = typer.Option(Path("faces-report"), "--out", "-o", help="Folder for the report; an existing one is kept."),
    attribute: str = typer.Option("tone", help="The protected factor: tone or gender_cue."),
    architecture: str = typer.Option("vgg", help="The classifier under test: vgg or resnet."),
    years: float = typer.Option(10.0, help="The planted bias: by how many years one side is labelled older; 0 plants none."),
    training: int = typer.Option(2400, min=200, help="Training portraits."),
    seed: int = typer.Option(7, help="The same seed gives the same report."),
) -> None:
    """Run the whole chain on synthetic portraits with a planted bias; exit 1 where the classifier leans."""
    require("torch", "torch")
    from evenhand.planted.portraits import Bias
    from evenhand.report.chain_page import chain_page
    from evenhand.verbs.picture_chain import ChainPlan, run_chain

    if attribute not in ("tone", "gender_cue"):
        raise InvalidArgument(f"--attribute {attribute!r} must be tone or gender_cue")
    values = (5, 6, 7, 8, 9) if attribute == "tone" else (1,)
    biases = (Bias(attribute, values, years),) if years else ()
    plan = ChainPlan(
        architecture=architecture, attribute=attribute, biases=biases, training=training, testing=min(1000, training // 2), seed=seed
    )
    chain = run_chain(plan, err.print)
    place = free_path(folder)
    place.mkdir(parents=True)
    (place / "report.html").write_text(chain_page(chain), encoding="utf-8")
    out.print(f"{'The classifier leans.' if chain.leaning.found else 'No leaning beyond the tolerance.'} Report: {place / 'report.html'}")
    raise typer.Exit(VIOLATION if chain.leaning.found else PASS)


@app.command("test")
def examine(
    album: Path = typer.Argument(..., help="Folder of pictures."),
    model: str = typer.Option(..., help="The classifier: an .onnx file, a torch file, or package.module:name for a module or function."),
    classes: str = typer.Option(..., help="Names of its classes, separated by commas, in the order of its output."),
    label: str = typer.Option(..., help="The album's attribute that the classifier predicts."),
    attribute: str = typer.Option(..., help="The protected attribute, with two values; of more, choose with --between."),
    between: str | None = typer.Option(
        None, help="Two groups of the attribute's values, such as white/black+asian; white alone: the rest."
    ),
    layout: str = typer.Option("folder", help="folder (with attributes.csv), celeba, fairface, utkface or lfw."),
    editor: Path | None = typer.Option(None, help="A trained CycleGAN's folder; without it, reflection in a PCA space."),
    size: int = typer.Option(64, min=16, max=256, help="Side of the pictures in pixels."),
    limit: int | None = typer.Option(None, min=1, help="Read at most so many pictures."),
    scale: float | None = typer.Option(None, help="The classifier takes (value * scale - mean) / deviation; usually 1/255."),
    mean: str | None = typer.Option(None, help="Per colour, after scaling, such as 0.485,0.456,0.406."),
    deviation: str | None = typer.Option(None, help="Per colour, after scaling, such as 0.229,0.224,0.225."),
    input_size: int | None = typer.Option(None, min=8, help="Side of the pictures that the classifier takes, where it is another."),
    blue_first: bool = typer.Option(False, "--blue-first", help="The classifier takes blue, green, red."),
    ordered: bool = typer.Option(False, "--ordered", help="The classes have an order, as age groups have."),
    tolerance: float = typer.Option(0.05, min=0.0, max=0.5, help="A net change up to this is tolerated."),
    neurons: bool = typer.Option(
        False, "--neurons", help="Run the whole chain: neurons, coverage, generation, mending. Torch modules only."
    ),
    trust: bool = typer.Option(False, "--trust", help="Load a pickled torch module, which runs its code."),
    folder: Path = typer.Option(Path("faces-test"), "--out", "-o", help="Folder for report.html and result.json; an existing one is kept."),
    seed: int = typer.Option(0, help="Of the split and of the independent classifiers."),
) -> None:
    """Test a classifier on your own pictures: twins by a learned editor, which an independent classifier judges in turn."""
    require("torch", "torch")
    import numpy as np

    from evenhand.datasets.album_data import from_album
    from evenhand.measures.jury import train_jury
    from evenhand.models.wrap import wrap
    from evenhand.verbs.examine_pictures import PictureRule, album_page, examine_album, watched

    rng = np.random.default_rng(seed)
    whole = _album(album, layout, (label, size, limit), (attribute, between))
    taken, tested = whole.split(2 / 3, rng)
    for_editor, for_jury = taken.split(0.5, rng)
    prepare = _preparation(scale, mean, deviation, (input_size, size, blue_first))
    twin_maker, shown = _editor(editor, for_editor, tested, attribute, rng)
    names = tuple(name.strip() for name in classes.split(","))
    wrapped: Any = wrap(model, from_album(tested, [twin_maker]), classes=names, prepare=prepare, trusted=trust)
    classifier: PictureModel = wrapped.reader
    err.print(f"{len(tested)} pictures are tested, {len(for_editor)} are the editor's, {len(for_jury)} the independent classifiers'")
    jury = train_jury(for_jury, [attribute, *watched(for_jury, attribute, label)], rng)
    found = examine_album(shown, classifier, twin_maker, jury, PictureRule(tolerance, ordered))
    place = free_path(folder)
    place.mkdir(parents=True)
    page = (
        _chain_page(classifier, for_editor, shown, (twin_maker, jury, PictureRule(tolerance, ordered), seed))
        if neurons
        else album_page(found)
    )
    (place / "report.html").write_text(page, encoding="utf-8")
    say_json(found.as_dict(), place / "result.json")
    out.print(f"{found.outcome}: {found.judged.share} of pairs get two labels. {found.facts.lines()[0]}. Report: {place / 'report.html'}")
    raise typer.Exit(BY_OUTCOME[found.outcome])


def _album(folder: Path, layout: str, reading: tuple[str, int, int | None], protected: tuple[str, str | None]) -> Album:
    """The album in one of the layouts, with the protected attribute cut in two where that was asked for."""
    from evenhand.datasets import albums
    from evenhand.datasets.albums.reading import Reading

    read = albums.LAYOUTS.entry(layout).make().read(folder, Reading(*reading))
    attribute, between = protected
    if between is not None:
        first, _, second = between.partition("/")
        read = read.between(attribute, first.split("+"), second.split("+") if second else ())
    read.sides(attribute)
    return read.known(attribute)


def _preparation(scale: float | None, mean: str | None, deviation: str | None, more: tuple[int | None, int, bool]) -> Preparation | None:
    """How bytes become the classifier's input, where anything was said about it."""
    from evenhand.models.preparation import Preparation

    own_size, size, blue_first = more
    if scale is None and mean is None and deviation is None and own_size is None and not blue_first:
        return None
    usual = Preparation(own_size or size, scale=1 / 255 if scale is None else scale, blue_first=blue_first)
    return replace(usual, mean=_three(mean, "--mean", usual.mean), deviation=_three(deviation, "--deviation", usual.deviation))


def _three(text: str | None, option: str, usual: tuple[float, float, float]) -> tuple[float, float, float]:
    if text is None:
        return usual
    try:
        red, green, blue = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidArgument(f"{option} {text!r} must be three numbers separated by commas") from None
    return red, green, blue


def _chain_page(model: PictureModel, training: Album, tested: Album, how: tuple[Editor, Jury, PictureRule, int]) -> str:
    """The whole chain on a user's own torch classifier and pictures."""
    import numpy as np

    from evenhand.models.picture_training import accuracy
    from evenhand.models.torch import TorchClassifier
    from evenhand.report.chain_page import chain_page
    from evenhand.verbs.picture_chain import ChainMaterial, ChainPlan, Clock, examine

    if not isinstance(model, TorchClassifier):
        raise InvalidArgument("--neurons needs a torch module, whose layers can be read; this classifier only answers")
    editor, jury, rule, seed = how
    own, test = (each.labelled_as(model.classes) for each in (training, tested))
    own, test = (each[np.flatnonzero(each.label.codes >= 0)] for each in (own, test))
    plan = ChainPlan(type(model.module).__name__, editor.attribute, tolerance=rule.tolerance, ordered=rule.ordered, seed=seed)
    material = ChainMaterial(model, own, test, accuracy(model, test), editor, jury)
    return chain_page(examine(plan, material, np.random.default_rng(seed).spawn(4), Clock(err.print)))


def _editor(trained: Path | None, own: Album, tested: Album, attribute: str, rng: Generator) -> tuple[Editor, Album]:
    """The editor, and the pictures whose twins it makes: a latent space shows what it can draw."""
    if trained is not None:
        from evenhand.media.editors.cyclegan import load_cyclegan

        return load_cyclegan(trained), tested
    from evenhand.media.editors.reflection import Reflection
    from evenhand.synthesis.picture_latent.pca import PcaSpace

    reflection = Reflection.fit(own, attribute, PcaSpace.fit(own.pictures, max(1, min(80, len(own) // 4)), rng))
    return reflection, reflection.decoded(tested)


@app.command("cyclegan")
def cyclegan(
    folder: Path = typer.Argument(..., help="Folder for checkpoints and sample sheets."),
    attribute: str = typer.Option("tone", help="The attribute to translate."),
    album: Path | None = typer.Option(None, help="A folder of pictures; without it, synthetic portraits."),
    layout: str = typer.Option("folder", help="folder (with attributes.csv), celeba, fairface, utkface or lfw."),
    between: str | None = typer.Option(
        None, help="Two groups of the attribute's values, such as white/black+asian; white alone: the rest."
    ),
    size: int = typer.Option(32, min=32, max=128, help="Side of the pictures in pixels."),
    steps: int = typer.Option(1500, min=1, help="Training steps in all."),
    resume: bool = typer.Option(False, "--resume", help="Continue from the folder's checkpoint."),
    seed: int = typer.Option(0, help="Of the first weights and the batches."),
) -> None:
    """Train a CycleGAN editor; checkpoints make it resumable."""
    require("torch", "torch")
    import numpy as np
    from rich.progress import Progress

    from evenhand.media.editors.cyclegan import CycleSettings, TranslatorWorkshop, train_cyclegan
    from evenhand.planted.portraits import synthetic_faces

    rng = np.random.default_rng(seed)
    pictures = synthetic_faces(2000, rng, size) if album is None else _album(album, layout, (attribute, size, None), (attribute, between))
    with Progress(console=err, transient=True) as progress:
        task = progress.add_task("training", total=steps)
        train_cyclegan(
            pictures,
            attribute,
            rng,
            CycleSettings(steps=steps),
            TranslatorWorkshop(folder, resume, lambda _, step, __: progress.update(task, completed=step)),
        )
    out.print(f"{steps} steps; checkpoint and sample sheets in {folder}")
