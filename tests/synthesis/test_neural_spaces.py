"""Trained spaces: valid rows, the same training for the same seed, resumed training equal to uninterrupted, safe files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenhand.contract import Headway
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, StoreError
from evenhand.synthesis.ctgan import Ctgan, CtganSettings
from evenhand.synthesis.latent import LatentSpace
from evenhand.synthesis.learning import Schedule, train
from evenhand.synthesis.normalisation import Normaliser
from evenhand.synthesis.tvae import Tvae, TvaeSettings

torch = pytest.importorskip("torch")

DOMAIN = TabularDomain(
    (
        Column("group", "category", ("a", "b", "c")),
        Column("age", "integer", low=18, high=90),
        Column("income", "real", low=0.0, high=100.0, missing=0.2),
        Column("member", "boolean", (False, True)),
    ),
    protected=("group",),
)
SMALL: dict[str, Any] = {
    "ctgan": (Ctgan, CtganSettings(embedding=8, generator=(16, 16), discriminator=(16, 16), batch=50, pack=5, epochs=4)),
    "tvae": (Tvae, TvaeSettings(embedding=8, encoder=(16,), decoder=(16,), batch=50, epochs=4)),
}


def rows_like_people(n: int = 400) -> np.ndarray:
    rng = np.random.default_rng(3)
    group = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    age = np.clip(np.rint(rng.normal(30 + 15 * group, 5)), 18, 90)
    income = np.where(rng.random(n) < 0.2, np.nan, np.clip(rng.normal(40, 10, n), 0, 100))
    return np.column_stack([group, age, income, rng.random(n) < 0.3]).astype(np.float64)


ROWS = rows_like_people()


def fitted(kind: str, seed: int = 0, schedule: Schedule | None = None, **changes: Any) -> Any:
    make, settings = SMALL[kind]
    return make.fit(ROWS, DOMAIN, np.random.default_rng(seed), replace(settings, **changes), schedule)


@pytest.fixture(scope="module", params=sorted(SMALL))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def space(kind: str) -> Any:
    return fitted(kind)


def test_space_keeps_the_contract(space: Any) -> None:
    assert isinstance(space, LatentSpace)
    latents = space.latents(200, np.random.default_rng(0))
    assert latents.shape == (200, space.latent_size)
    rows = space.decode(latents)
    assert DOMAIN.contains(rows).all()
    assert DOMAIN.contains(space.sample(200, np.random.default_rng(0))).all()
    np.testing.assert_allclose(rows[50:60], space.decode(latents[50:60]), atol=1e-3)


def test_same_seed_gives_the_same_space_and_leaves_the_global_state_alone(kind: str, space: Any) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    again = fitted(kind)
    assert torch.equal(before, torch.random.get_rng_state())
    for name, array in space.weights.items():
        np.testing.assert_array_equal(array, again.weights[name])
    other = fitted(kind, seed=1)
    assert any(not np.array_equal(array, other.weights[name]) for name, array in space.weights.items())


@pytest.mark.slow
def test_resumed_training_equals_uninterrupted(kind: str, space: Any, tmp_path: Path) -> None:
    schedule = Schedule(checkpoint=tmp_path / "half.npz", save_every=2)

    class Interrupted(Exception):
        pass

    def stop(headway: Headway) -> None:
        if headway.done == 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        fitted(kind, schedule=replace(schedule, watch=stop))
    epochs: list[int] = []
    resumed = fitted(kind, schedule=replace(schedule, watch=lambda headway: epochs.append(headway.done)))
    assert epochs == [3, 4]
    for name, array in space.weights.items():
        np.testing.assert_array_equal(array, resumed.weights[name])


def test_checkpoint_of_another_training_is_refused(kind: str, tmp_path: Path) -> None:
    schedule = Schedule(checkpoint=tmp_path / "other.npz", save_every=1)
    fitted(kind, schedule=schedule, epochs=1)
    with pytest.raises(StoreError, match="another training"):
        fitted(kind, seed=9, schedule=schedule)


class Counting:
    """A learner whose distance falls until the third epoch and then rises."""

    def __init__(self) -> None:
        self.seen = 0

    def epoch(self, number: int) -> dict[str, float]:
        self.seen = number + 1
        return {"loss": 0.0}

    def state(self) -> dict[str, np.ndarray]:
        return {"seen": np.array(self.seen)}

    def restore(self, state: Any) -> None:
        self.seen = int(state["seen"])

    def distance(self) -> float:
        return abs(self.seen - 3.0)


def test_early_stop_keeps_the_closest_state(tmp_path: Path) -> None:
    learner, seen = Counting(), []
    schedule = Schedule(patience=2, look_every=1, watch=seen.append, checkpoint=tmp_path / "stopped.npz", save_every=1)
    assert train(learner, 30, schedule, {"of": "test"}) == 5
    assert (learner.seen, [each.note for each in seen]) == (3, [f"loss 0, distance {far}" for far in (2, 1, 0, 1, 2)])
    resumed = Counting()
    assert train(resumed, 30, schedule, {"of": "test"}) == 5
    assert resumed.seen == 3


def test_distance_from_the_data_is_smaller_for_the_data_themselves(space: Any) -> None:
    from evenhand.synthesis.ctgan_training import CtganLearner
    from evenhand.synthesis.tvae import TvaeLearner

    learner = (CtganLearner if space.name == "ctgan" else TvaeLearner)(space.normaliser, space.settings, ROWS, 3)
    far = learner.distance()
    learner.space = lambda: SimpleNamespace(sample=lambda n, rng: ROWS[rng.integers(0, len(ROWS), n)])  # type: ignore[method-assign]
    assert learner.distance() < 0.5 * far


def test_saved_space_decodes_alike(kind: str, space: Any, tmp_path: Path) -> None:
    space.save(tmp_path / "space.npz")
    loaded = type(space).load(tmp_path / "space.npz", DOMAIN)
    latents = space.latents(100, np.random.default_rng(1))
    np.testing.assert_array_equal(space.decode(latents), loaded.decode(latents))
    with pytest.raises(StoreError, match="columns of this domain"):
        type(space).load(tmp_path / "space.npz", TabularDomain(DOMAIN.columns[:2]))


def test_pickled_file_is_never_unpickled(kind: str, tmp_path: Path) -> None:
    with (tmp_path / "bad.npz").open("wb") as file:
        np.savez(file, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(StoreError, match="plain arrays"):
        SMALL[kind][0].load(tmp_path / "bad.npz", DOMAIN)


def test_normaliser_finds_its_way_back_for_every_cell() -> None:
    rng = np.random.default_rng(0)
    normaliser = Normaliser.fit(ROWS, DOMAIN, rng)
    back = normaliser.rows(normaliser.vectors(*normaliser.slots(ROWS, rng)))
    np.testing.assert_array_equal(back[:, [0, 1, 3]], ROWS[:, [0, 1, 3]])
    np.testing.assert_array_equal(np.isnan(back[:, 2]), np.isnan(ROWS[:, 2]))
    np.testing.assert_allclose(back[:, 2], ROWS[:, 2], atol=0.5)


def test_written_out_gradient_penalty_equals_double_differentiation() -> None:
    from evenhand.synthesis.ctgan_training import CtganLearner

    normaliser = Normaliser.fit(ROWS, DOMAIN, np.random.default_rng(0))
    learner = CtganLearner(normaliser, SMALL["ctgan"][1], ROWS, 7)
    width = learner.critic["layer_0.kernel"].shape[1]
    real, fake = torch.rand(10, width, generator=torch.Generator().manual_seed(1)), torch.zeros(10, width)
    penalty = learner._penalty(real, fake, torch.Generator().manual_seed(2))
    random = torch.Generator().manual_seed(2)
    share = torch.empty(10, 1).uniform_(generator=random)
    between = (share * real + (1 - share) * fake).requires_grad_()
    judged, _ = learner._judged(between, random)
    gradient = torch.autograd.grad(judged.sum(), between, create_graph=True)[0]
    expected = 10.0 * ((gradient.norm(2, dim=1) - 1) ** 2).mean()
    torch.testing.assert_close(penalty, expected)
    weights = list(learner.critic.values())
    for mine, autograd in zip(
        torch.autograd.grad(penalty, weights, allow_unused=True), torch.autograd.grad(expected, weights, allow_unused=True), strict=True
    ):
        assert (mine is None) == (autograd is None) or float((autograd if mine is None else mine).abs().max()) == 0.0
        if mine is not None and autograd is not None:
            torch.testing.assert_close(mine, autograd)


@pytest.mark.slow
def test_adam_moves_as_torch_does() -> None:
    from evenhand.synthesis.adam import Adam, Rates

    start = torch.linspace(-1.0, 1.0, 6)
    mine, other = start.clone().requires_grad_(), start.clone().requires_grad_()
    adam = Adam(torch, {"w": mine}, Rates(0.01, 0.5, 0.9, 0.1))
    reference = torch.optim.Adam([other], lr=0.01, betas=(0.5, 0.9), weight_decay=0.1)
    for _ in range(20):
        adam.step(((mine - 2) ** 4).sum())
        reference.zero_grad()
        ((other - 2) ** 4).sum().backward()
        reference.step()
    torch.testing.assert_close(mine, other)


def test_affine_front_of_the_generator_is_affine() -> None:
    space = fitted("ctgan", epochs=1)
    first, second = (space.latents(20, np.random.default_rng(s)) for s in (0, 1))
    np.testing.assert_allclose(space.begin((first + second) / 2), (space.begin(first) + space.begin(second)) / 2, atol=1e-5)


def test_discrete_real_column_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="income"):
        fitted("ctgan", discrete=("income",))


@pytest.mark.parametrize("changes", [{"batch": 52}, {"epochs": 0}, {"average": 1.0}, {"generator": (4,)}])
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        replace(SMALL["ctgan"][1], **changes)


@pytest.mark.slow
def test_averaged_generator_learns_the_shares_of_a_column() -> None:
    """A few hundred steps are enough for the frequent group to come out frequent."""
    space = fitted("ctgan", epochs=80)
    sample = space.sample(4000, np.random.default_rng(0))
    shares = np.bincount(sample[:, 0].astype(int), minlength=3) / 4000
    assert abs(shares[0] - 0.6) < 0.2
