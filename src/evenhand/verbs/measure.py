"""measure(): how unfair a model is to individuals and to groups, every number with its population and its uncertainty.

Searches for nothing that a rate would rest on; `scan` searches.  Where differences concentrate, and exact shares, are others' business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Labels
from evenhand.campaign.work_folder import WorkFolder, happened
from evenhand.claims import Claim
from evenhand.contract import Headway, Medium, Model, Oracle, StudyCase, StudySection, has_twins, labels_of, words_of
from evenhand.datasets.large_dataset import LargeDataset
from evenhand.domain.tabular import TabularDomain
from evenhand.domain.twins import Comparison as ComparedValues
from evenhand.engine.digest import domain_digest, rows_digest
from evenhand.engine.gate import Gate
from evenhand.engine.header import Header, header_of
from evenhand.engine.preflight import preflight
from evenhand.engine.run import Plan, Subject, run
from evenhand.engine.samples import JudgedSample, judged_sample
from evenhand.engine.subject import Data
from evenhand.errors import DataError, EvenhandError, InvalidArgument
from evenhand.measures.every_row import EveryRow, every_row
from evenhand.measures.exchanged_words import doubt_about, exchanges_of, held_by_words
from evenhand.measures.group_curve import ProtectedNumber
from evenhand.measures.group_fairlearn import USUAL, FairlearnFigure, GroupAnswers, through_fairlearn
from evenhand.measures.group_figures import Figure, GroupSettings, corrected
from evenhand.measures.groups import continua, groupings
from evenhand.measures.oracles_side_by_side import CompareSettings, OracleComparison, compare_oracles
from evenhand.measures.rare_rate import RareRateSettings, rare_rate
from evenhand.measures.rate_stream import RateStream
from evenhand.measures.rates import DRAWN, Sample, comparable, discrimination_rate, real_sample, uniform_sample
from evenhand.measures.reweighted_rate import RateQuestion, WeightedRate, natural_rate
from evenhand.measures.studies import sections_of
from evenhand.media.scenes import Scenes
from evenhand.media.table import Table
from evenhand.methods import METHODS
from evenhand.models.amount_models import is_regressor, wrap_amounts
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.models.paid_answers import is_asked_remotely, paid_once
from evenhand.models.shown import of_own_pictures
from evenhand.oracles import OracleChoice, oracle_of, ready, usual_oracle
from evenhand.oracles.flip import LabelFlip
from evenhand.oracles.parts.tolerated import usual_tolerance
from evenhand.shared_work import Sharing
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.level_chain import LevelChain
from evenhand.verbs.group_tasks import FigureWork
from evenhand.verbs.measure_claims import claim_by_studies, whole_claim
from evenhand.verbs.measure_result import IndividualRate, Measurement, MeasureOptions
from evenhand.verbs.measured_evidence import MeasuredEvidence, evidence_of
from evenhand.verbs.measurement import Answer, answer_of

if TYPE_CHECKING:
    pass

FEWEST_FOR_TREES = 50
STREAM_STEP = 1_000
OTHER_PARTS = 6
"""Parts of a measurement beside groups: individuals, plausible people, a natural search, oracles, studies, pairs."""


def measure(
    model: Any,
    data: Data,
    *,
    protected: Sequence[str] | None = None,
    oracle: OracleChoice | None = None,
    seed: int = 0,
    options: MeasureOptions | None = None,
) -> Measurement:
    """How unfair the model is, to individuals and to groups, with everything that says how sure that is.

    model: what `evenhand.wrap` returns, or what it takes.  data: what `evenhand.open` returns; a missing label is allowed.
    protected: columns instead of the data's own.  seed: of everything random.  options: what is measured, and how finely.
    oracle: what counts as unfair to an individual, as in `scan`; by default another label, or for a regression another amount.

    >>> import evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> model = eh.wrap(lambda frame: 50 + frame["age"] - frame["duration"], data, returns="score", threshold=60)
    >>> measured = eh.measure(model, data, options=eh.MeasureOptions(groups_only=True))
    >>> measured.outcome
    'violation'
    """
    options = options or MeasureOptions()
    domain, compared = protected_domain(data, protected)
    if not domain.protected:
        raise InvalidArgument("protected: name at least one protected column; nothing is protected in this domain")
    if not len(data.rows):
        raise DataError(f"{data.name}: no row lies inside the domain")
    fixed = {"verb": "measure", "data": data.name, "protected": domain.protected, "seed": seed}
    with paid_once(model, options.folder, fixed, options.fresh) as paid:
        meter = Meter(as_model(paid.model, domain, options), executor=options.executor)
        found = _kept_measurement(_Measurer(meter, data, domain, options, seed, oracle), compared)
        paid.settle()
    return found


def _kept_measurement(measurer: _Measurer, compared: list[str]) -> Measurement:
    """The measurement; the answers of a model that is costly to ask are kept in the folder until all is measured."""
    options, model, domain, rows = measurer.options, measurer.model.model, measurer.domain, measurer.data.rows
    if options.folder is None or not getattr(model, "is_costly", False):
        return _measured(measurer, compared)
    fixed = {"model": model.fingerprint(), "domain": domain_digest(domain), "rows": rows_digest(rows), "seed": measurer.seed}
    place = WorkFolder.of(options.folder, "measure", fixed)
    with place.held():
        shelf = None if is_asked_remotely(model) else place.shelf("answers")  # what was paid for is kept row by row
        found = _measured(replace(measurer, model=Meter(model, executor=options.executor, shelf=shelf)), compared)
    told = happened(place.events())
    place.clear()
    return replace(found, notes=(*found.notes, *told))


def _measured(measurer: _Measurer, compared: list[str]) -> Measurement:
    """Everything; of a table that is not read whole, every row too."""
    found = measurer.all()
    found = replace(found, notes=(*found.notes, *compared))
    data = measurer.data
    if not isinstance(data, LargeDataset):
        return found
    return _with_every_row(found, data, measurer.domain, measurer.model, measurer.oracle, measurer.options)


def _with_every_row(
    measured: Measurement, data: LargeDataset, domain: TabularDomain, model: Meter, oracle: OracleChoice | None, options: MeasureOptions
) -> Measurement:
    """Of a table that is not read whole: every row is asked, too, and counted exactly; that rate leads."""
    whole = data.within(domain)
    judge = ready(oracle_of(usual_oracle(model.model) if oracle is None else oracle), data.rows, domain, model)
    has_labels = domain.has_classes and domain.label is not None and domain.label.column in data.frame.columns
    counted = every_row(whole.parts(), EveryRow(domain, model, judge, has_labels))
    rate = IndividualRate("every row", "the share of all rows of the table", counted.rate(options.confidence))
    studies = {"every row": counted.section(options.confidence), **measured.studies}
    return replace(measured, individual=(rate, *measured.individual), studies=studies, notes=(*measured.notes, data.note))


def protected_domain(data: Data, protected: Sequence[str] | None) -> tuple[TabularDomain, list[str]]:
    """The domain with these columns protected; real numbers without declared values are compared at the middles of fifths of the people.

    That is for twins, who need another value to have; group figures compare numbers as curves.
    """
    if protected is None:
        return data.domain, []
    comparisons, notes = dict(data.domain.comparisons), []
    for name in protected:
        place = data.domain.place(name)
        cells = data.rows[:, place]
        if data.domain.columns[place].is_integral or name in comparisons or np.isnan(cells).all():
            continue
        edges = np.unique(np.quantile(cells[~np.isnan(cells)], np.linspace(0, 1, 6)))
        chosen = ComparedValues(edges=tuple(edges.tolist())) if len(edges) > 2 else ComparedValues(values=tuple(edges.tolist()))
        comparisons[name] = chosen
        notes.append(f"no values of {name!r} were declared to compare, so a twin has the middle of another fifth of the people")
    return replace(data.domain, comparisons=comparisons).protect(*protected), notes


def as_model(model: Any, domain: TabularDomain, options: MeasureOptions) -> Model:
    """A model of the package: as it is, a regression by its number, anything else through `wrap`."""
    from evenhand.models.wrap import wrap

    if isinstance(model, Model):
        return model
    return wrap_amounts(model, domain) if options.amounts or is_regressor(model) else wrap(model, domain)


@dataclass(frozen=True)
class _Measurer:
    """One measurement while it is made."""

    model: Meter
    data: Data
    domain: TabularDomain
    options: MeasureOptions
    seed: int
    oracle: OracleChoice | None = None
    begun: list[str] = field(default_factory=list)  # parts, for who watches

    def all(self) -> Measurement:
        looked = preflight(
            Subject(
                self.domain,
                self.model.model,
                self.data.rows,
                self._labels(),
                medium=self._medium,
                amounts=getattr(self.data, "amounts", None),
            )
        )
        answer = answer_of(self._own, self.data, self.domain, self.options.labels, self.options.weights)
        judge = self._oracle()
        real = self._real_people(judge)
        individual = self._individual(judge, real)
        anytime, weighted, notes = self._plausible(judge)
        words = exchanges_of(self._medium, self.model, judge, self.domain, self.data.rows)
        figures = held_by_words(self._figures(answer), words)
        comparison = self._comparison()
        alarms = comparison.alarms if comparison else ()
        told_of_answers = () if isinstance(self._medium, Scenes) else answer.notes  # counts of objects have no labels of their own
        notes = [*told_of_answers, *notes, *(comparison.notes if comparison else ())]
        notes += (
            [] if has_twins(self._medium) else ["the pictures have no twins: groups are compared, and nothing is said about individuals"]
        )
        notes += [told] if (told := getattr(self._medium, "left_out", "")) else []
        notes += self._redrawn(answer)
        studies = self._studies(answer)
        claim = whole_claim(individual, figures, self.options)
        if alarms:
            claim = Claim("measure", open="the model gives one answer to everybody: nothing can be said for or against it")
        elif any(section.claims for section in studies.values()):
            claim = claim_by_studies(studies, individual, figures, self.options)
        ruling = Gate.rule(claim).if_proven(doubt_about(words, self.options.confidence))
        looked = looked.knowing(0 if real is None else real.rate.unfair)
        ruling = ruling.unless(looked.reserve).if_wired(looked.doubt)
        notes += [each.sentence for each in words]
        reserves = [f"{each.name}: {each.sentence.rstrip('.')}" for each in looked.checks if each.is_doubt or each.is_reserve]
        notes += [told for told in reserves if told not in ruling.reason]
        rest = self._rest(answer)
        header = self._header(judge)
        return Measurement(
            header, individual, anytime, weighted, figures, rest, comparison,
            ruling.outcome, ruling.reason, tuple(alarms), tuple(notes), studies, self._evidence(judge, real, studies), looked.doubt,
        )  # fmt: skip

    @property
    def _own(self) -> Meter:
        """The model asked about pictures as they came, where an editor draws them again for its pairs."""
        model = of_own_pictures(self.model.model, self._medium)
        return self.model if model is self.model.model else Meter(model, executor=self.options.executor)

    def _redrawn(self, answer: Answer) -> list[str]:
        """Where an editor draws pictures again: how often the model is right about them, and about the ones that came."""
        if getattr(self._medium, "as_given", None) is None:
            return []
        known = None if answer.truth is None else answer.truth >= 0
        told = "the editor draws every picture again before it changes it: pairs show redrawn pictures, groups are compared on your own"
        if answer.truth is None or known is None or not known.any():
            return [told]
        own, redrawn = (
            float((said == answer.truth)[known].mean()) for said in (answer.labels, labels_of(self.model.scores(self.data.rows)))
        )
        return [f"{told}, of which the model labels {own:.1%} rightly; of the redrawn ones {redrawn:.1%}"]

    def _evidence(self, oracle: Oracle, real: JudgedSample | None, studies: Mapping[str, StudySection]) -> MeasuredEvidence:
        """Pairs and rules of the real rows; none where only groups are asked for, or where rows have no twins."""
        if real is None or self.options.groups_only:
            return MeasuredEvidence()
        self._say("pairs, and where they concentrate")
        subject = Subject(self.domain, self.model.model, self.data.rows, medium=self._medium)
        readers = tuple(each for section in studies.values() for each in section.readers)
        return evidence_of(subject, real, oracle, self._rng(12)).read_by(readers)

    def _labels(self) -> Labels | None:
        """The data's labels, where it has any; -1 for a row without one."""
        try:
            return self.data.labels if self.domain.has_classes else None
        except EvenhandError:
            return None

    @property
    def _medium(self) -> Medium:
        return getattr(self.data, "medium", None) or Table(self.domain)

    @property
    def _has_columns(self) -> bool:
        """Whether a row is made of columns that plausible people can be learned from, and not a number of a picture or a scene."""
        return not (getattr(self._medium, "is_listed", False) or self.domain.numbers_things)

    def _studies(self, answer: Answer) -> dict[str, StudySection]:
        """Measures of what the rows show, where there are some for the medium."""
        if self.options.groups_only:
            return {}
        self._say(f"studies of {self._medium.kind} data")
        frame = getattr(self.data, "frame", None)
        whole = None if frame is None or len(frame) != len(self.data.rows) else frame
        case = StudyCase(self.domain, self.model, self._medium, self.data.rows, answer.truth, whole, confidence=self.options.confidence)
        case = replace(case, tolerance=self.options.leaning, ordered=self.options.ordered)
        return sections_of(case, self._rng(9), self.options.studies)

    @property
    def _drawn(self) -> int:
        """People that are drawn from the domain and from plausible people."""
        return self.options.rate_rows or DRAWN

    def _say(self, what: str) -> None:
        """One more part has begun; the parts are the groupings, the curves and what stands in OTHER_PARTS."""
        self.begun.append(what)
        if self.options.watch:
            total = len(self.domain.protected) + 1 + OTHER_PARTS
            self.options.watch(Headway("measure", min(len(self.begun) - 1, total), total, what))

    def _go_on(self, what: str) -> None:
        """The same part, further on."""
        if self.options.watch:
            self.options.watch(Headway("measure", max(0, len(self.begun) - 1), len(self.domain.protected) + 1 + OTHER_PARTS, what))

    def _rng(self, part: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, 7, part])

    def _oracle(self) -> Oracle:
        """What was chosen; else labels that differ, or for amounts, amounts further apart than the tolerance."""
        if self.oracle is not None:
            return ready(oracle_of(self.oracle), self.data.rows, self.domain, self.model)
        name = usual_oracle(self.model.model)
        chosen = oracle_of({name: {"tolerance": self.options.tolerance}} if name == "amounts" else name)
        return ready(chosen, self.data.rows, self.domain, self.model)

    def _real_people(self, oracle: Oracle) -> JudgedSample | None:
        """The real rows, judged; of a list of things, those that have a twin.  None where nothing has one."""
        if not has_twins(self._medium):
            return None
        self._say("individuals: random, real and distinct people")
        rows = real_sample(self.data.rows, self.options.rate_rows, self.domain, self.model.model, self._rng(0))
        sample = comparable(rows, self.domain) if getattr(self._medium, "is_listed", False) else rows
        return judged_sample(sample, self.domain, self.model, oracle, self.options.confidence)

    def _individual(self, oracle: Oracle, real: JudgedSample | None) -> tuple[IndividualRate, ...]:
        if real is None:
            return ()
        rng, n = self._rng(1), self._drawn
        if getattr(self._medium, "is_listed", False):
            return (IndividualRate("IF_o", "share of the real rows that have a twin", real.rate),)
        random, again = uniform_sample(self.domain, n, rng), uniform_sample(self.domain, n, rng)
        _, first = np.unique(self.domain.keys(again.rows), return_index=True)
        samples = {
            "IF_r": ("share of random rows of the domain (LIMI)", random),
            "DM-RS": ("the same from distinct random rows of their own (NeuronFair)", Sample(again.rows[first], "domain, distinct")),
        }
        drawn = [
            IndividualRate(name, meaning, discrimination_rate(sample, self.domain, self.model, oracle, self.options.confidence))
            for name, (meaning, sample) in samples.items()
        ]
        return (IndividualRate("IF_o", "share of the real rows (LIMI)", real.rate), *drawn)

    def _plausible(self, oracle: Oracle) -> tuple[dict[str, Any] | None, WeightedRate | None, list[str]]:
        """The anytime rate and the weighted rate among plausible people."""
        if not self._has_columns or self.options.groups_only:
            return None, None, []
        if len(self.data.rows) < FEWEST_FOR_TREES:
            return None, None, [f"{len(self.data.rows)} rows are too few to learn plausible people from; {FEWEST_FOR_TREES} would do"]
        self._say("plausible people are learnt")
        trees = ChainedTrees.fit(self.data.rows, self.domain, self._rng(2))
        stream = RateStream(trees, self.domain, self.model, oracle, self._rng(3))
        stream.share.confidence = self.options.confidence
        for n in range(STREAM_STEP, self._drawn + STREAM_STEP, STREAM_STEP):
            stream.advance(min(n, self._drawn))
            self._go_on(stream.sentence)
        return stream.as_dict(), self._weighted(trees, oracle), self._rare(oracle)

    def _rare(self, oracle: Oracle) -> list[str]:
        """A share that plain draws are too few for, where it is asked for."""
        if not self.options.rare_people:
            return []
        if not isinstance(oracle, LabelFlip):
            return ["rare_people: levels towards a rare share are known for labels only (the oracle flip)"]
        self._say("levels towards what is rare")
        chain = LevelChain.fit(self.data.rows, self.domain, self._rng(10))
        settings = RareRateSettings(people=self.options.rare_people, confidence=self.options.confidence)
        return [f"Plausible people: {rare_rate(chain, self.model, self._rng(11), settings).sentence} {words_of(oracle)}."]

    def _weighted(self, trees: ChainedTrees, oracle: Oracle) -> WeightedRate | None:
        if not self.options.natural_candidates:
            return None
        self._say("a natural search, to weigh what it finds")
        subject = Subject(self.domain, self.model.model, self.data.rows, population=trees)
        plan = Plan(self.seed, Budget(candidates=self.options.natural_candidates), oracle)
        found = run(METHODS.make("chains"), subject, plan).findings
        question = RateQuestion(self.domain, self.model, oracle, self.options.confidence)
        return natural_rate(trees, found.rows, question, self._drawn, self._rng(4))

    def _figures(self, answer: Answer) -> tuple[Figure, ...]:
        if getattr(self._medium, "is_listed", False):  # whether a scene was changed makes no group of scenes
            return ()
        self._say("groups and their tests")
        settings = GroupSettings(self.options.confidence, self.options.smallest_gap, self.options.draws)
        numbers = tuple(ProtectedNumber(name, self.data.rows[:, self.domain.place(name)]) for name in continua(self.data.rows, self.domain))
        work = FigureWork(answer, tuple(groupings(self.data.rows, self.domain)), numbers, tuple(self.model.classes), settings)
        asked = work.every()
        tasks = [replace(task, rng=rng) for task, rng in zip(asked, self._rng(5).spawn(len(asked)), strict=True)]
        found = Sharing(self.options.executor).answers(work, tasks)
        return tuple(corrected([each for part in found for each in part]))

    def _rest(self, answer: Answer) -> tuple[FairlearnFigure, ...]:
        """What Fairlearn adds, where labels are known."""
        outcomes = answer.outcomes
        if outcomes.truth is None or outcomes.chosen is None:
            return ()
        known = outcomes.truth >= 0
        if known.sum() < 2 or len(np.unique(outcomes.truth[known])) < 2:
            return ()
        score = outcomes.score[known] if outcomes.score is not None and answer.is_probability else None
        weights = None if outcomes.weights is None else outcomes.weights[known]
        answers = GroupAnswers(outcomes.truth[known].astype(int), outcomes.chosen[known].astype(int), score, weights)
        found: list[FairlearnFigure] = []
        for grouping in groupings(self.data.rows, self.domain):
            part = replace(grouping, codes=grouping.codes[known])
            found += through_fairlearn((*USUAL, *self.options.extra), answers, part, self._rng(6))
        return tuple(found)

    def _comparison(self) -> OracleComparison | None:
        if not self.options.compare_rows or self.options.groups_only or len(self.data.rows) < FEWEST_FOR_TREES or not self._has_columns:
            return None
        self._say("oracles side by side, with the null of shuffled groups")
        is_amount = len(self.model.classes) == 1
        tolerance = usual_tolerance(self.options.tolerance, self.data.rows, self.domain, self.model) if is_amount else None
        settings = CompareSettings(
            self.options.compare_rows, null_draws=self.options.null_draws, confidence=self.options.confidence,
            graph=self.options.graph, tolerance=tolerance, executor=self.options.executor,
        )  # fmt: skip
        return compare_oracles(self.data.rows, self.domain, self.model, self._rng(8), settings)

    def _header(self, oracle: Oracle) -> Header:
        subject = Subject(self.domain, self.model, self.data.rows, medium=self._medium)
        plan = Plan(self.seed, Budget(model_rows=self._drawn), oracle)
        chosen = ("confidence", "smallest_gap", "max_gap", "max_rate", "draws", "null_draws", "natural_candidates")
        return header_of("measure", subject, self.data.name, plan, {name: getattr(self.options, name) for name in chosen})
