"""Promises of everything that needs torch: gradients, layers, mutants, latent spaces, editors, the chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="these parts need torch")

from deepfait import generated  # noqa: E402
from mutated_copies import OPERATORS, mutate  # noqa: E402
from picture_pairs import judge, make_pairs  # noqa: E402

import evenhand as eh  # noqa: E402
from evenhand.contract import EditorTools, Headway  # noqa: E402
from evenhand.errors import DataError, InvalidArgument, StoreError, UnknownName  # noqa: E402
from evenhand.media.album import Album  # noqa: E402
from evenhand.media.editors.cyclegan import (  # noqa: E402
    CycleGan,
    CycleSettings,
    LessonPictures,
    TranslatorLesson,
    TranslatorWorkshop,
    load_cyclegan,
    train_cyclegan,
)
from evenhand.media.editors.fgsm import Fgsm  # noqa: E402
from evenhand.media.editors.reflection import Reflection  # noqa: E402
from evenhand.media.editors.rerender import Rerender  # noqa: E402
from evenhand.media.hyperplane import separating  # noqa: E402
from evenhand.methods.gradient_generation import GradientGeneration  # noqa: E402
from evenhand.methods.limi_pictures import LimiPictures  # noqa: E402
from evenhand.methods.neuronfair_pictures import NeuronFairPictures  # noqa: E402
from evenhand.methods.random_generation import RandomGeneration  # noqa: E402
from evenhand.models.picture_networks import NETWORKS  # noqa: E402
from evenhand.models.picture_training import Course, accuracy, train, train_further  # noqa: E402
from evenhand.models.torch_pictures import torch_classifier  # noqa: E402
from evenhand.planted.portraits import AGE_GROUPS, synthetic_faces  # noqa: E402
from evenhand.synthesis.picture_latent.convolutional import AutoencoderSpace  # noqa: E402
from evenhand.synthesis.picture_latent.pca import PcaSpace  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def album():
    return synthetic_faces(400, np.random.default_rng(0), 32)


@pytest.fixture(scope="module")
def tone_reader(album):
    by_tone = Album("tones", album.pictures, album.attributes, album.attribute("tone"), album.factors)
    return train("vgg", by_tone, np.random.default_rng(1), Course(epochs=2, batch=32))


@pytest.fixture(scope="module", params=sorted(NETWORKS))
def classifier(request):
    torch.manual_seed(0)
    network = NETWORKS[request.param](3, 32)
    return torch_classifier(network, AGE_GROUPS, network.readable)


def test_scores_do_not_depend_on_the_batch(classifier, album):
    whole = classifier.scores(album.pictures[:300])
    assert np.allclose(whole.sum(axis=1), 1.0, atol=1e-5)
    assert np.allclose(whole[200:210], classifier.scores(album.pictures[200:210]), atol=1e-5)


def test_the_loss_gradient_is_the_slope_of_the_loss(classifier, album):
    pictures, labels = album.pictures[:4].astype(np.float32), np.array([0, 1, 2, 0])
    gradient = classifier.loss_gradient(pictures, labels)
    step = 0.05 * np.sign(gradient)

    def loss(shown):
        return -np.log(classifier.scores(shown)[np.arange(4), labels].astype(np.float64))

    slope = (loss(pictures + step) - loss(pictures - step)) / 2.0
    assert np.allclose(slope, (np.abs(gradient) * 0.05).sum(axis=(1, 2, 3)), rtol=0.1, atol=1e-3)


def test_layers_can_be_read_and_followed_back(classifier, album):
    names = classifier.layers()
    read = classifier.activations(album.pictures[:8], names)
    deepest = names[-1]
    assert all(len(values) == 8 for values in read.values())
    assert (read[deepest] >= 0).all()
    weights = np.zeros_like(read[deepest])
    assert not classifier.activation_gradient(album.pictures[:8], deepest, weights).any()
    weights[:, read[deepest].mean(axis=0).argmax()] = 1.0
    assert classifier.activation_gradient(album.pictures[:8], deepest, weights).any()
    assert classifier.relevance(album.pictures[:8], deepest).shape == read[deepest].shape
    with pytest.raises(UnknownName, match="layer"):
        classifier.activations(album.pictures[:2], ["nowhere"])


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_mutants_differ_and_leave_the_original_alone(classifier, album, operator):
    before = classifier.scores(album.pictures[:20])
    mutant = mutate(classifier, operator, 0.5, np.random.default_rng(2))
    assert not np.allclose(mutant.scores(album.pictures[:20]), before, atol=1e-6)
    assert np.array_equal(classifier.scores(album.pictures[:20]), before)


def test_training_learns_tone_and_further_training_makes_a_copy(tone_reader, album):
    by_tone = Album("tones", album.pictures, album.attributes, album.attribute("tone"), album.factors)
    assert accuracy(tone_reader, by_tone) > 0.85
    before = tone_reader.scores(album.pictures[:10])
    further = train_further(tone_reader, album.pictures[:64], album.attribute("tone").codes[:64], np.random.default_rng(0), Course(1, 32))
    assert np.array_equal(tone_reader.scores(album.pictures[:10]), before)
    assert not np.array_equal(further.scores(album.pictures[:10]), before)


def fair_pictures(album, reader, attribute):
    judged = judge(make_pairs(album, Rerender(attribute)), reader)
    fair = album[np.flatnonzero(~judged.unfair)]
    return Album(fair.name, fair.pictures, fair.attributes, fair.attribute("tone"), fair.factors)


def test_gradient_generation_beats_chance(tone_reader, album):
    fair = fair_pictures(album[:32], tone_reader, "gender_cue")
    found = [generated(m, fair, Rerender("gender_cue"), tone_reader, 0).share.estimate for m in (GradientGeneration(), RandomGeneration())]
    assert found[0] > found[1]


def test_neuronfair_finds_unfair_pairs_through_biased_neurons(tone_reader, album):
    fair = fair_pictures(album[:24], tone_reader, "gender_cue")
    found = generated(NeuronFairPictures(), fair, Rerender("gender_cue"), tone_reader, 0)
    assert found.share.estimate > 0
    assert found.unfair.unfair.all()


def test_fgsm_flips_the_reader_and_says_that_it_is_no_more_than_that(tone_reader, album):
    editor = Fgsm("tone", tone_reader, sizes=(8.0, 32.0, 64.0))
    twins = editor.twins(album[:80])
    codes = album.attribute("tone").codes[:80]
    before, after = tone_reader.scores(album.pictures[:80]), tone_reader.scores(twins)
    right = before.argmax(axis=1) == codes
    places = np.arange(80)
    assert (before[places, codes] - after[places, codes]).mean() > 0.2
    assert (after.argmax(axis=1) != codes)[right].mean() > 0.2
    assert np.abs(twins.astype(int) - album.pictures[:80]).max() <= 64
    assert "classifier flip" in editor.flip


@pytest.mark.parametrize("kind", ["pca", "autoencoder"])
def test_reflection_goes_to_the_other_side_and_back(album, kind):
    rng = np.random.default_rng(0)
    space = PcaSpace.fit(album.pictures, 40, rng) if kind == "pca" else AutoencoderSpace.fit(album.pictures, 16, rng, 1, 10)
    reflection = Reflection.fit(album, "tone", space)
    points = space.encode(album.pictures[:50])
    mirrored = reflection.plane.reflected(points)
    assert np.allclose(reflection.plane.distance(mirrored), -reflection.plane.distance(points))
    assert np.allclose(reflection.plane.reflected(mirrored), points)
    assert reflection.twins(album[:50]).shape == (50, 32, 32, 3)
    assert space.name in reflection.flip


def test_a_gan_is_a_latent_space_that_reads_its_own_points(album):
    from evenhand.synthesis.picture_latent import adversarial

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adversarial, "SAMPLES", 120)
        state = torch.get_rng_state()
        one, other = (adversarial.AdversarialSpace.fit(album.pictures, 6, np.random.default_rng(4), steps=4) for _ in range(2))
    points = one.sample(40, np.random.default_rng(5))
    drawn = one.decode(points)
    assert drawn.shape == (40, 32, 32, 3)
    assert drawn.dtype == np.uint8
    assert np.array_equal(drawn, other.decode(points))
    assert np.corrcoef(one.encode(drawn).ravel(), points.ravel())[0, 1] > 0.5
    assert one.decode(points[:0]).shape == (0, 32, 32, 3)
    assert "GAN with 6 dimensions" in one.name
    assert torch.equal(torch.get_rng_state(), state)


def test_pca_draws_what_it_has_seen(album):
    space = PcaSpace.fit(album.pictures, 60, np.random.default_rng(0))
    again = space.decode(space.encode(album.pictures[:20])).astype(float)
    assert np.abs(again - album.pictures[:20]).mean() < 8
    assert np.allclose(space.encode(album.pictures).std(axis=0), 1.0, atol=0.1)


def test_a_hyperplane_has_unit_length_and_separates():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(-2, 1, (200, 3)), rng.normal(2, 1, (200, 3))])
    plane = separating(points, np.arange(400) >= 200)
    assert np.linalg.norm(plane.normal) == pytest.approx(1.0)
    assert np.mean((plane.distance(points) > 0) == (np.arange(400) >= 200)) > 0.98
    assert np.allclose(plane.distance(plane.on_it(points)), 0.0)


def test_limi_probes_the_boundary_of_a_classifier(tone_reader, album):
    by_tone = Album("tones", album.pictures, album.attributes, album.attribute("tone"), album.factors)
    found = generated(LimiPictures(drawn=600, points=300, dimensions=40), by_tone, Rerender("tone"), tone_reader, 1)
    assert found.share.estimate > 0.5
    assert found.unfair.unfair.all()


def test_cyclegan_saves_resumes_and_refuses_other_settings(tmp_path, album):
    settings = CycleSettings(steps=2, batch=4, width=8, checkpoint_every=1)
    train_cyclegan(album, "tone", np.random.default_rng(0), settings, TranslatorWorkshop(tmp_path))
    assert (tmp_path / "samples_000002.png").exists()
    heard = []
    longer = CycleSettings(steps=3, batch=4, width=8, checkpoint_every=1)
    editor = train_cyclegan(album, "tone", np.random.default_rng(0), longer, TranslatorWorkshop(tmp_path, True, heard.append))
    assert heard == [Headway("cyclegan", 3, 3)]
    assert np.array_equal(load_cyclegan(tmp_path).twins(album[:10]), editor.twins(album[:10]))
    with pytest.raises(StoreError, match="settings"):
        train_cyclegan(
            album, "tone", np.random.default_rng(0), CycleSettings(steps=3, batch=4, width=16), TranslatorWorkshop(tmp_path, True)
        )
    with pytest.raises(DataError, match="batch"):
        train_cyclegan(album[:6], "tone", np.random.default_rng(0), CycleSettings(batch=16))


def test_an_interrupted_training_of_translators_is_finished_before_they_edit(tmp_path, album):
    settings = CycleSettings(steps=4, batch=4, width=8, checkpoint_every=1)
    lesson = TranslatorLesson("tone", settings, "cpu", LessonPictures(album.attribute("tone").values, album.pictures.shape[1]))
    lesson.save(tmp_path)
    tools = EditorTools(np.random.default_rng(0), folder=tmp_path)
    CycleGan.made(album, "tone", tools)
    assert (tmp_path / "samples_000004.png").exists()
    (tmp_path / "samples_000004.png").unlink()
    CycleGan.made(album, "tone", tools)
    assert not (tmp_path / "samples_000004.png").exists(), "finished ones are taken as they are"
    CycleGan.made(album, "tone", replace(tools, settings={"steps": 5, "width": 8}))
    assert (tmp_path / "samples_000005.png").exists(), "a training that is to be longer goes on"
    with pytest.raises(StoreError, match="learnt with network='small', and editor_settings say 'published'"):
        CycleGan.made(album, "tone", replace(tools, settings={"network": "published"}))


def test_a_checkpoint_that_lacks_weights_is_refused_in_words(tmp_path, album):
    settings = CycleSettings(steps=1, batch=4, width=8)
    train_cyclegan(album, "tone", np.random.default_rng(0), settings, TranslatorWorkshop(tmp_path))
    saved = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    saved["quartet"].popitem()
    torch.save(saved, tmp_path / "checkpoint.pt")
    with pytest.raises(StoreError, match=r"does not fit the networks .* remove it to begin again"):
        load_cyclegan(tmp_path)
    longer = replace(settings, steps=2)
    with pytest.raises(StoreError, match="does not fit the networks"):
        train_cyclegan(album, "tone", np.random.default_rng(0), longer, TranslatorWorkshop(tmp_path, resume=True))


@pytest.mark.slow
def test_the_whole_chain_finds_a_planted_bias_and_draws_its_figures():
    from deepfait import ChainPlan, figure_3, figure_4, run_chain

    chain = run_chain(ChainPlan(training=900, testing=300, seeds_of_generation=80, course=Course(epochs=4)))
    assert chain.leaning.found
    assert chain.generated["GG"].share.estimate > chain.generated["RG"].share.estimate
    for name in ("fair+unfair", "fair+GG"):
        assert chain.coverages["fc7"][name]["cosine"] > chain.coverages["fc7"]["fair"]["cosine"]
    assert all("<svg" in chart for chart in (*figure_3(chain).values(), figure_4(chain)))


def test_a_kept_cyclegan_knows_its_sides_and_its_size(tmp_path, album):
    from evenhand.media.album import Attribute

    settings = CycleSettings(steps=1, batch=4, width=8)
    train_cyclegan(album, "tone", np.random.default_rng(0), settings, TranslatorWorkshop(tmp_path))
    kept, tone = load_cyclegan(tmp_path), album.attribute("tone")
    assert (kept.sides, kept.size) == (tone.values, album.pictures.shape[1])
    turned = replace(album, attributes={**album.attributes, "tone": Attribute(tone.values[::-1], 1 - tone.codes)})
    assert np.array_equal(kept.turned_for(turned).twins(turned[:6]), kept.twins(album[:6]))
    with pytest.raises(StoreError, match="pictures of 16"):
        kept.turned_for(replace(album, pictures=album.pictures[:, ::2, ::2]))


def test_a_step_is_made_of_one_value_of_another_attribute(monkeypatch, album):
    from evenhand.media.editors import cyclegan

    seen, codes = [], {picture.tobytes(): code for picture, code in zip(album.pictures, album.attribute("gender_cue").codes, strict=True)}
    monkeypatch.setattr(cyclegan, "_value", lambda pictures, _: pictures)
    monkeypatch.setattr(cyclegan.TranslatorLesson, "advance", _watched(seen))
    train_cyclegan(album, "tone", np.random.default_rng(0), CycleSettings(steps=12, batch=4, width=8, within="gender_cue"))
    values = [{codes[picture.tobytes()] for side in step for picture in side} for step in seen]
    assert all(len(one) == 1 for one in values)
    assert len(set().union(*values)) == 2
    assert cyclegan._kept_alike(album, "tone") == "gender_cue"
    assert cyclegan._kept_alike(album[:20], "tone") == ""  # too few of some kind
    assert cyclegan._kept_alike(album, "gender_cue") == "tone"


def test_translations_are_confirmed_while_they_are_learnt(tmp_path, album, tone_reader):
    """A tenth is held out; a reader that knows it says at each checkpoint how many translations show the other value."""
    asked = []

    def reader(rest, attribute, _rng):
        asked.append(len(rest))
        assert attribute == "tone"
        return tone_reader

    settings = CycleSettings(steps=4, batch=4, width=8, checkpoint_every=2, pool=3)
    editor = train_cyclegan(album, "tone", np.random.default_rng(0), settings, TranslatorWorkshop(tmp_path, reader=reader))
    assert asked == [len(album) - len(album) // 10]
    assert [each.step for each in editor.confirmed] == [2, 4]
    assert all(0 <= each.share <= 1 and 0 < each.pictures <= len(album) // 10 for each in editor.confirmed)
    assert load_cyclegan(tmp_path).confirmed == editor.confirmed
    assert (tmp_path / "confirmed.csv").read_text().splitlines()[0] == "step,confirmed_share,pictures"
    longer = CycleSettings(steps=6, batch=4, width=8, checkpoint_every=2, pool=3)
    again = train_cyclegan(album, "tone", np.random.default_rng(0), longer, TranslatorWorkshop(tmp_path, True, reader=reader))
    assert [each.step for each in again.confirmed] == [2, 4, 6]


def test_settings_of_the_editor_are_the_users(album):
    from evenhand.media.editors.cyclegan import chosen_settings

    usual, published = (chosen_settings(given, album, "tone") for given in ({}, {"network": "published"}))
    assert (usual.network, usual.pool, usual.within) == ("small", 0, "gender_cue")
    assert (published.width, published.pool, published.batch, published.decay) == (64, 50, 1, True)
    assert published.steps == 200 * max(np.bincount(album.sides("tone")))
    assert chosen_settings({"network": "published", "steps": 3, "within": ""}, album, "tone").steps == 3
    with pytest.raises(UnknownName, match="setting of the CycleGAN"):
        chosen_settings({"netwrok": "published"}, album, "tone")
    with pytest.raises(InvalidArgument, match="takes no settings"):
        eh.open(album, label="age_group", protected=["tone"], settings={"editor": "reflection", "editor_settings": {"steps": 3}})


def test_the_reader_of_fgsm_sits_on_the_users_net_behind_its_preparation(album):
    """NeuronFair's reader: a net that sees the wrong values, black pictures here, can teach its reader nothing."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 5, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(6 * 10 * 10, 3))
    weights = [each.clone() for each in net.parameters()]
    read = {}
    for name, prepare in (("seen", {"scale": 1 / 255}), ("black", {"scale": 0.0})):
        settings = {"editor": "fgsm", "trunk": net, "prepare": prepare}
        reader = eh.open(album, label="age_group", protected=["tone"], settings=settings).medium.editors[0].reader
        read[name] = reader.scores(album.pictures[:80]).std(axis=0).max()
    assert read["seen"] > 0.05
    assert read["black"] < 1e-6
    assert all(torch.equal(old, new) for old, new in zip(weights, net.parameters(), strict=True))
    with pytest.raises(InvalidArgument, match="must be a torch module"):
        eh.open(album, label="age_group", protected=["tone"], settings={"editor": "fgsm", "trunk": lambda pictures: pictures})


def _watched(seen):
    def advance(lesson, first, second):
        seen.append((first, second))
        lesson.step += 1

    return advance


def test_the_published_networks_learn_with_a_pool_and_a_falling_rate(tmp_path, album):
    settings = CycleSettings(network="published", width=4, batch=1, steps=2, pool=1, decay=True, identity="target")
    editor = train_cyclegan(album, "tone", np.random.default_rng(0), settings, TranslatorWorkshop(tmp_path))
    assert editor.twins(album[:3]).shape == album[:3].pictures.shape
    assert np.array_equal(load_cyclegan(tmp_path).twins(album[:3]), editor.twins(album[:3]))
    with torch.inference_mode():
        assert editor.quartet.critic_of_first(torch.zeros(1, 3, 70, 70)).shape[2:] == (6, 6)
