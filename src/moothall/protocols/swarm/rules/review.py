"""What comes between the operations of a round and its settlement: collisions, in which idle agents review findings of others
(S-13, source 14.3), the checks of the validator, and which findings express the same idea.

An agent is idle if it has delivered its report and holds no subtask.

Ideas are joined by equal text, explicit `agreesWith` (S-8), and the verdicts of the judge of answers on pairs of texts, each in both
orders (S-31, Q-3). A measure only finds the pairs that are put to the judge: what nobody understood is never joined (S-36). A judge
errs: what a single word of it keeps apart is put to it again in a later round: then texts move, and ideas become one.
`sort_ideas` computes the partition of the texts and records what changed in it. All else follows from the partition and the
findings: what ideas are called, who holds them, and who held them before reading them (S-28).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Final

from moothall.domain.dictionaries import group_pairs
from moothall.domain.effects import CompareTexts
from moothall.domain.groups import Groups, JudgedPair, Pair, add_judged, order_pair
from moothall.domain.ids import SeatId
from moothall.domain.replace import copy_fields, fast_replace
from moothall.domain.seeded_random import random_unit
from moothall.domain.topic import normalize_label
from moothall.protocols.swarm.answers import (
    Action,
    ComparedPair,
    SimilarityReport,
    Validation,
)
from moothall.protocols.swarm.facts import CollisionMode, IdeasSorted, PlacedIdea
from moothall.protocols.swarm.rules.evidence import direction_key
from moothall.protocols.swarm.rules.plain_report import HELD_FROM
from moothall.protocols.swarm.state import (
    Agent,
    Board,
    CollisionReview,
    Finding,
    Idea,
    Invitation,
    RoundReview,
    Swarm,
    parse_number,
)
from moothall.scoring.likeness import (
    JOIN_AT,
    find_similar_texts,
    is_against,
    measure_by_words,
    normalize_idea,
)

# Weights of the source: a challenge counts most, because it is what a group of agreeing agents lacks.
REVIEW_WEIGHTS: Final[dict[Action, float]] = {
    "challenge": 1.5,
    "support": 0.8,
    "extend": 1.2,
    "synthesize": 1.0,
    "pass": 0.0,
}
MIN_FINDINGS: Final = 2
DEEPEN_ABOVE: Final = 0.6
DEBATE_ABOVE: Final = 2
MAX_ON_ONE: Final = 2
SHOWN: Final = 3
LOOKED_AT: Final = 60
"""The newest findings; the targets of collisions are chosen among them."""
MAX_CHECKED: Final = 10


def choose_mode(state: Swarm, agent: Agent) -> CollisionMode:
    if agent.role == "SYNTHESIZER":
        return "early_synthesis"
    if state.board.strongest > DEEPEN_ABOVE:
        return "collaborate_deepen"
    if len(state.board.perspectives) > DEBATE_ABOVE:
        return "debate"
    return "review_challenge"


def build_invitations(state: Swarm) -> tuple[Invitation, ...]:
    """Choose who collides with what in this round; agents in random order, at most `MAX_ON_ONE` per direction."""
    most = state.settings.collisions
    if not most or len(state.board.findings) < MIN_FINDINGS or state.stop:
        return ()
    crowd: dict[str, int] = {}
    invitations: list[Invitation] = []
    for seat in _list_idle_agents(state):
        if len(invitations) == most:
            break
        agent = state.agents[seat]
        mode = choose_mode(state, agent)
        targets = _select_targets(state, agent, mode, crowd)
        if targets:
            # Only the first target counts, because it is the one that the agent is asked to answer.
            direction = _find_direction_key(targets[0])
            crowd[direction] = crowd.get(direction, 0) + 1
            numbers = tuple(each.number for each in targets)
            invitations.append(Invitation(seat=seat, mode=mode, targets=numbers))
    return tuple(invitations)


def _list_idle_agents(state: Swarm) -> list[SeatId]:
    """Return the idle agents in random order."""
    idle: list[SeatId] = []
    for seat in state.active:
        if seat in state.answered and not state.agents[seat].subtask:
            idle.append(seat)
    # Seeded order: otherwise the first seats of the roster would always get the few collisions of a round.
    idle.sort(key=lambda seat: (random_unit(state.opened.seed, "collide", state.round, seat), seat))
    return idle


def _find_direction_key(finding: Finding) -> str:
    return direction_key(finding.direction) or finding.id


def _select_targets(
    state: Swarm, agent: Agent, mode: CollisionMode, crowd: Mapping[str, int]
) -> list[Finding]:
    """Return the findings that suit the mode; the first one is to be answered."""
    strength = {key: each.concentration for key, each in state.board.pheromones.items()}
    own: set[str] = set()
    others: list[Finding] = []
    for finding in state.board.findings[-LOOKED_AT:]:
        if finding.seat == agent.seat:
            own.add(finding.perspective)
        elif crowd.get(_find_direction_key(finding), 0) < MAX_ON_ONE:
            others.append(finding)

    # Lower ranks come first: the mode's own criterion, then findings with few reviews, then the newest.
    def rank(finding: Finding) -> tuple[bool, float, float, int]:
        fits = {
            "collaborate_deepen": -strength.get(direction_key(finding.direction), 0.0),
            # A debate needs findings from a perspective that the agent has not taken itself: False sorts before True.
            "debate": float(finding.perspective in own),
            "review_challenge": float(len(finding.reviews)),
            "early_synthesis": 0.0,
        }[mode]
        # To a bare repetition of an idea there is little to say.
        return not finding.details, fits, float(len(finding.reviews)), -finding.number

    return sorted(others, key=rank)[:SHOWN]


def list_findings_to_check(state: Swarm) -> tuple[int, ...]:
    """Return the findings that the validator is asked about."""
    if state.stop:
        return ()
    unchecked: list[int] = []
    for finding in state.board.findings:
        if finding.needs_validation and finding.verdict is None:
            unchecked.append(finding.number)
    return tuple(unchecked[:MAX_CHECKED])


def apply_reviews(state: Swarm) -> Swarm:
    """Return the swarm with the collisions and the validator's verdicts written to the findings."""
    reviews = _group_reviews(state)
    verdicts = _collect_checks(state, state.review.validation)
    if not reviews and not verdicts:
        return state
    findings: list[Finding] = []
    for each in state.board.findings:
        if each.number in reviews or each.number in verdicts:
            added = (*each.reviews, *reviews.get(each.number, ()))
            findings.append(replace(verdicts.get(each.number, each), reviews=added))
        else:
            findings.append(each)
    refuted = set(state.board.refuted)
    for each in verdicts.values():
        if each.verdict == "refuted":
            refuted.add(each.key)
        else:
            refuted.discard(each.key)
    board = fast_replace(state.board, findings=tuple(findings), refuted=frozenset(refuted))
    return fast_replace(state, board=board)


def _group_reviews(state: Swarm) -> dict[int, list[CollisionReview]]:
    """Return what was said in the collisions, by the finding that it is about."""
    reviews: dict[int, list[CollisionReview]] = {}
    for invitation in state.review.invitations:
        said = state.review.collisions.get(invitation.seat)
        if said is None or said.action == "pass":
            continue
        review = copy_fields(
            CollisionReview,
            said,
            invitation,
            weight=REVIEW_WEIGHTS[said.action],
            new_insights=tuple(text for text in said.new_insights if text.strip()),
        )
        # It is about the finding that it names if that was shown to it, else about the first target.
        target = parse_number(said.target_finding_id, "finding-")
        if target not in invitation.targets:
            target = invitation.targets[0]
        reviews.setdefault(target, []).append(review)
    return reviews


def _collect_checks(state: Swarm, said: Validation | None) -> dict[int, Finding]:
    if said is None:
        return {}
    verdicts: dict[int, Finding] = {}
    for each in said.verdicts:
        finding = state.board.finding(each.finding)
        if finding is not None and finding.number in state.review.to_check:
            verdicts[finding.number] = replace(finding, verdict=each.verdict, checked=each.reason)
    return verdicts


def find_invitation(state: Swarm, seat: SeatId) -> Invitation | None:
    """Return the invitation of an agent in the current round."""
    for invitation in state.review.invitations:
        if invitation.seat == seat:
            return invitation
    return None


MAX_COMPARED: Final = 300
"""How many known ideas, and how many other texts of known ideas, the newest, a new text is compared with."""
NEAREST: Final = 3
"""How many of the nearest texts of each new one are put to the judge."""
BEST_BACKED: Final = 2
"""How many of the best backed ideas are put to the judge beside them: a restatement may share no word with its idea (S-36)."""
PER_IDEA: Final = 2
"""How many of these may say one idea."""
MAX_JUDGED: Final = 60
"""How many pairs with new texts are put to the judge in one round."""
MAX_SECOND_LOOKS: Final = 12
"""How many pairs of known texts are put to the judge again in one round; each once only."""


def list_new_findings(state: Swarm) -> list[Finding]:
    """Return the findings of the current round: the unassigned ones at the end."""
    return [*takewhile(lambda finding: not finding.idea, reversed(state.board.findings))][::-1]


def start_review(state: Swarm) -> RoundReview:
    """Return who collides, what is checked, the texts that nobody stated before, and what is compared for the judge, if any."""
    board, apart = state.board, _collect_separate_texts(state)
    stated_now = _index_texts(list_new_findings(state))
    fresh = tuple(text for key, text in stated_now.items() if key not in board.by_text)
    review = RoundReview(
        invitations=build_invitations(state), to_check=list_findings_to_check(state), fresh=fresh
    )
    if state.judge is None:
        return review
    # Neither texts that the user keeps apart nor texts whose author already says what they agree with need a judge.
    placed = {*apart, *_collect_agreements(state)}
    unplaced = [text for text in fresh if normalize_idea(text) not in placed]
    founding = _index_founding_texts(board)
    known = [text for key, text in founding.items() if key not in apart][-MAX_COMPARED:]
    # Texts that joined an idea help to find it.
    stated = _index_texts(finding for finding in board.findings if finding.idea)
    joined = [text for key, text in stated.items() if key not in founding][-MAX_COMPARED:]
    texts = (*known, *joined)
    ideas = tuple(board.by_text[normalize_idea(text)] for text in texts)
    if len(known) + len(unplaced) > 1:
        texts = (*texts, *unplaced)
    return fast_replace(review, texts=texts, ideas=ideas)


def _index_founding_texts(board: Board) -> dict[str, str]:
    """Return the founding texts of the ideas by their normalized form; an idea whose texts all moved to another is none any more."""
    named = {normalize_idea(idea.text): idea for idea in board.ideas.values()}
    founding: dict[str, str] = {}
    for key, idea in named.items():
        if board.by_text.get(key) == idea.number:
            founding[key] = idea.text
    return founding


def _index_texts(findings: Iterable[Finding]) -> dict[str, str]:
    """Return the texts of findings as first written, by their normalized form."""
    texts: dict[str, str] = {}
    for finding in findings:
        texts.setdefault(finding.key, finding.core_idea)
    return texts


def build_comparison(state: Swarm) -> CompareTexts:
    texts, first = state.review.texts, state.review.first_new
    # More than are judged, because several of the nearest texts may say one idea.
    return CompareTexts(
        known=texts[:first], new=texts[first:], nearest=4 * NEAREST, by=state.settings.measure
    )


def compare_by_words(compared: CompareTexts) -> SimilarityReport:
    """Compare by words alone: the fallback if the measure fails."""
    similar = find_similar_texts(compared.known, compared.new, measure_by_words, compared.nearest)
    return SimilarityReport(
        by="words", pairs=tuple(ComparedPair(**pair._asdict()) for pair in similar)
    )


def with_pairs(state: Swarm) -> Swarm:
    """Return the swarm with the pairs for the judge (S-31): near ones, known once the measure has answered, and second looks."""
    if state.judge is None:
        return state
    asked: list[ComparedPair] = []
    denials: list[ComparedPair] = []
    for pair in _list_near_pairs(state):
        if _is_denial(pair, state.review):
            denials.append(pair)
        else:
            asked.append(pair)
    pairs = (*asked, *_list_second_looks(state))
    return fast_replace(
        state, review=fast_replace(state.review, pairs=pairs, denials=tuple(denials))
    )


def list_wanted_pairs(state: Swarm) -> list[Pair]:
    """Return the pairs that the judge is asked about in this stage, the older text first."""
    review = state.review
    if review.is_judged:
        return []
    return [_name_texts(review, pair) for pair in review.pairs]


def _name_texts(review: RoundReview, pair: ComparedPair) -> Pair:
    return review.texts[pair.other], review.texts[pair.one]


def _list_near_pairs(state: Swarm) -> list[ComparedPair]:
    """Return for each new text the nearest earlier ones, at most `PER_IDEA` of one idea, then the best backed ideas.

    Of too many, the nearest stay.
    """
    review = state.review
    if not review.has_new:
        return []
    report = review.likenesses or compare_by_words(build_comparison(state))
    # Only earlier texts count, each once.
    pairs = {(pair.one, pair.other): pair for pair in report.pairs if 0 <= pair.other < pair.one}
    near = group_pairs((pair.one, pair) for pair in pairs.values())
    backed = _list_best_backed(state)
    ranked: list[tuple[int, ComparedPair]] = []
    for one in range(review.first_new, len(review.texts)):
        ranked += enumerate(_choose_pairs(review, one, near.get(one, ()), backed))
    ranked.sort(key=lambda each: (each[0], -each[1].likeness, each[1].one, each[1].other))
    chosen = [pair for _, pair in ranked[:MAX_JUDGED]]
    chosen.sort(key=lambda pair: (pair.one, -pair.likeness, pair.other))
    return chosen


def _choose_pairs(
    review: RoundReview, one: int, near: Iterable[ComparedPair], backed: Iterable[int]
) -> list[ComparedPair]:
    """Return the pairs of one new text with the nearest of the texts near it, then with the best backed ideas."""
    chosen: list[ComparedPair] = []
    compared: list[int] = []
    for pair in sorted(near, key=lambda each: (-each.likeness, each.other)):
        # Another new text has no idea yet: its place stands for one.
        idea = -pair.other
        if pair.other < review.first_new:
            idea = review.ideas[pair.other]
        if len(chosen) < NEAREST and compared.count(idea) < PER_IDEA:
            chosen.append(pair)
            compared.append(idea)
    for other in backed:
        if review.ideas[other] not in compared:
            chosen.append(_build_pair(review, one, other))
    return chosen


def _build_pair(review: RoundReview, one: int, other: int) -> ComparedPair:
    """Return a pair that no measure was asked about."""
    likeness = measure_by_words(review.texts[one], (review.texts[other],))[0]
    return ComparedPair(one=one, other=other, likeness=round(likeness, 4))


def _list_best_backed(state: Swarm) -> list[int]:
    """Return the places of the founding texts of the ideas that most agents hold."""
    backers = Counter(number for agent in state.agents.values() for number in agent.holds)
    founding = {number: at for at, number in reversed([*enumerate(state.review.ideas)])}
    ranked = sorted(founding, key=lambda number: (-backers[number], number))
    return [founding[number] for number in ranked[:BEST_BACKED] if backers[number] > 1]


def _list_second_looks(state: Swarm) -> list[ComparedPair]:
    """Return pairs of known texts that a single word of the judge keeps apart, where one of them stands alone; the nearest first."""
    board, texts = state.board, state.review.texts
    places = {normalize_label(text): at for at, text in enumerate(texts[: state.review.first_new])}
    ideas = Counter(board.by_text.values())
    between = Counter(_name_sides(state, key) for key in state.groups.judged)
    looks: list[ComparedPair] = []
    for key, pair in state.groups.judged.items():
        sides = _name_sides(state, key)
        # What two verdicts say is not in doubt.
        if not pair.is_said_once or key in board.looked or between[sides] > 1:
            continue
        if not set(key) <= places.keys():
            continue
        other, one = sorted(places[text] for text in key)
        if 1 in {ideas[state.review.ideas[one]], ideas[state.review.ideas[other]]}:
            looks.append(_build_pair(state.review, one, other))
    looks.sort(key=lambda pair: (-pair.likeness, pair.one, pair.other))
    return looks[:MAX_SECOND_LOOKS]


def _name_sides(state: Swarm, key: Pair) -> Pair:
    """Return the groups that a pair stands between."""
    return order_pair(state.groups.find(key[0]), state.groups.find(key[1]))


def _is_denial(pair: ComparedPair, review: RoundReview) -> bool:
    """Whether two texts say nearly the same words and take opposite sides: there a judge that says otherwise has misread."""
    one, other = review.texts[pair.one], review.texts[pair.other]
    return is_against(one, other) and measure_by_words(one, (other,))[0] >= JOIN_AT


def sort_ideas(state: Swarm) -> IdeasSorted:
    """Assign every text that nobody stated before to an idea; by new verdicts others may move."""
    review, board = state.review, state.board
    agreed = _find_agreed_texts(state)
    pairs = [*_list_denials(state), *_list_agreements(state, agreed)]
    groups = add_judged(state.groups, pairs, state.opened.subject.options)
    measure = ""
    if review.has_new:
        measure = "words (fallback)"
        if review.likenesses is not None:
            measure = review.likenesses.by
    judge = ""
    if review.judged:
        judge = state.judge or ""
    where = _place_texts(board, review.fresh, groups)
    return IdeasSorted(
        round=state.round,
        # Recorded with the result, so that a report can say which measure found the pairs.
        by=measure,
        placed=tuple(
            _list_placed(state, where, {key: where[other] for key, other in agreed.items()})
        ),
        judge=judge,
        judged=len(review.judged),
    )


def _find_agreed_texts(state: Swarm) -> dict[str, str]:
    """Return what each new text agrees with by its author's own word, both normalized: an idea's text, or one before it.

    That word comes first: a judge is only asked where the author says nothing.
    """
    board, declared = state.board, _collect_agreements(state)
    earlier: set[str] = set()
    agreed: dict[str, str] = {}
    for key in map(normalize_idea, state.review.fresh):
        for name in declared.get(key, ()):
            idea = board.idea(find_named_idea(board, board.by_text, name))
            other = normalize_idea(name)
            if idea is not None:
                other = normalize_idea(idea.text)
            if idea is not None or other in earlier:
                agreed[key] = other
                break
        earlier.add(key)
    return agreed


def _list_denials(state: Swarm) -> Iterator[JudgedPair]:
    """Yield the pairs that nobody is asked about: they deny each other in nearly the same words."""
    for pair in state.review.denials:
        one, other = _name_texts(state.review, pair)
        yield JudgedPair(one=one, other=other, first="opposite", second="opposite")


def _list_agreements(state: Swarm, agreed: Mapping[str, str]) -> Iterator[JudgedPair]:
    """Yield what authors say that their texts are."""
    texts = _index_texts(state.board.findings)
    for key, other in agreed.items():
        yield _build_agreement(texts[key], texts.get(other, other))


def _build_agreement(text: str, idea: str) -> JudgedPair:
    return JudgedPair(one=idea, other=text, first="same", second="same", reason="agreesWith")


def _place_texts(board: Board, fresh: Iterable[str], groups: Groups) -> dict[str, int]:
    """Return the idea of each normalized text: that of its group whose founding text is the oldest, else a new one."""
    texts = _index_texts(board.findings)
    texts |= {normalize_idea(text): text for text in fresh}
    founding = _index_founding_texts(board)
    numbers: dict[str, int] = {}
    for key, text in founding.items():
        head = groups.find(text)
        numbers[head] = min(board.by_text[key], numbers.get(head, board.by_text[key]))
    where: dict[str, int] = {}
    free = len(board.ideas) + 1
    for key in (*board.by_text, *map(normalize_idea, fresh)):
        head = groups.find(texts.get(key, key))
        if head not in numbers:
            numbers[head] = free
            free += 1
        where[key] = numbers[head]
    return where


def _list_placed(
    state: Swarm, where: Mapping[str, int], agreed: Mapping[str, int]
) -> Iterator[PlacedIdea]:
    """Yield the assignments of new texts, then of those that moved; new ideas are numbered in this order without gaps."""
    board, review = state.board, state.review
    written = {normalize_idea(text): text for text in (*review.texts, *review.fresh)}
    moved = (key for key, idea in board.by_text.items() if where[key] != idea)
    numbers = {number: number for number in board.ideas}
    names = {number: idea.text for number, idea in board.ideas.items()}
    for key in (*map(normalize_idea, review.fresh), *moved):
        at, text = where[key], written.get(key, key)
        if at not in numbers:
            numbers[at] = len(numbers) + 1
            names[at] = text
            yield PlacedIdea(text=text, idea=numbers[at], reason="new")
        elif agreed.get(key) == at:
            yield PlacedIdea(text=text, idea=numbers[at], reason="agreesWith", similar_to=names[at])
        else:
            likeness, why = _explain_judgement(review, where, key)
            yield PlacedIdea(
                text=text,
                idea=numbers[at],
                reason="judge",
                similar_to=names[at],
                likeness=likeness,
                why=why,
            )


def _explain_judgement(
    review: RoundReview, where: Mapping[str, int], key: str
) -> tuple[float | None, str]:
    """Return how near a text was to another of its idea, and what the judge said of both in this round, if it did."""
    likenesses: dict[Pair, float] = {}
    for near in review.pairs:
        likenesses[_name_texts(review, near)] = near.likeness
    for pair in review.judged:
        both = (normalize_idea(pair.one), normalize_idea(pair.other))
        if pair.verdict == "same" and key in both and where.get(both[0]) == where.get(both[1]):
            return likenesses.get((pair.one, pair.other)), pair.reason
    return None, ""


def _collect_agreements(state: Swarm) -> dict[str, tuple[str, ...]]:
    """Return what the author of each new text says it agrees with, as far as that exists; nothing for texts that stay apart."""
    board, new, apart = state.board, list_new_findings(state), _collect_separate_texts(state)
    said = {finding.key for finding in new}
    agreements: dict[str, tuple[str, ...]] = {}
    for finding in new:
        names: list[str] = []
        for name in finding.agrees_with:
            key = normalize_idea(name)
            # Agreeing with oneself would be a founding text that joins itself.
            if key == finding.key:
                continue
            if key in said or find_named_idea(board, board.by_text, name):
                names.append(name)
        if names and finding.key not in apart:
            agreements.setdefault(finding.key, tuple(names))
    return agreements


def find_named_idea(board: Board, places: Mapping[str, int], name: str) -> int:
    """Return the idea that an `agreesWith` names by the id of a finding or of an idea, or by its text; 0 if there is none."""
    if name.startswith("finding-"):
        finding = board.finding(name)
        if finding is None:
            return 0
        return finding.idea
    if name.startswith("idea-"):
        idea = board.idea(parse_number(name, "idea-"))
        if idea is None:
            return 0
        # An idea that became part of another is found there.
        return places.get(normalize_idea(idea.text), idea.number)
    return places.get(normalize_idea(name), 0)


def _collect_separate_texts(state: Swarm) -> frozenset[str]:
    return frozenset(normalize_idea(text) for text in state.settings.apart)


def with_ideas(state: Swarm, placed: Collection[PlacedIdea]) -> Swarm:
    """Return the swarm with these texts assigned, and with all that follows from where texts stand."""
    before, new = state.board, list_new_findings(state)
    by_text = dict(before.by_text)
    ideas = dict(before.ideas)
    for each in placed:
        by_text[normalize_idea(each.text)] = each.idea
        if each.reason == "new":
            ideas[each.idea] = Idea(number=each.idea, text=each.text, round=state.round)
    # What agreed with an idea goes where its founding text goes.
    now = {number: by_text.get(normalize_idea(idea.text), number) for number, idea in ideas.items()}
    old = before.findings[: len(before.findings) - len(new)]
    known: list[Finding] = []
    for finding in old:
        also = [now[number] for number in finding.also]
        known.append(_with_idea(finding, by_text, also))
    stated = [_with_idea(finding, by_text, ()) for finding in new]
    ideas = _name_ideas(ideas, (*known, *stated))
    # Agents name ideas that they have read, so none of this round.
    read = fast_replace(
        before, findings=(*known, *new), ideas={number: ideas[number] for number in before.ideas}
    )
    assigned: list[Finding] = []
    for finding in new:
        agreed = [find_named_idea(read, by_text, name) for name in finding.agrees_with]
        assigned.append(_with_idea(finding, by_text, agreed))
    findings = (*known, *assigned)
    ideas, holds = _count_backers(ideas, findings, before.refuted)
    # Silence keeps the last opinion.
    agents = {
        seat: fast_replace(agent, holds=holds.get(seat, ())) for seat, agent in state.agents.items()
    }
    board = fast_replace(
        before,
        findings=findings,
        ideas=ideas,
        by_text=by_text,
        looked=before.looked | _list_looked(state),
    )
    return fast_replace(state, agents=agents, board=board, groups=_settle_groups(state, placed))


def _list_looked(state: Swarm) -> frozenset[Pair]:
    """Return the pairs of known texts that the judge was asked about again."""
    review = state.review
    looked: set[Pair] = set()
    for pair in review.pairs:
        if pair.one < review.first_new:
            one, other = _name_texts(review, pair)
            looked.add(order_pair(normalize_label(one), normalize_label(other)))
    return frozenset(looked)


def _settle_groups(state: Swarm, placed: Collection[PlacedIdea]) -> Groups:
    """Return the groups with what needed no judge in this round."""
    pairs = [*_list_denials(state)]
    for each in placed:
        if each.reason == "agreesWith":
            pairs.append(_build_agreement(each.text, each.similar_to))
    if not pairs:
        return state.groups
    return add_judged(state.groups, pairs, state.opened.subject.options)


def _with_idea(finding: Finding, by_text: Mapping[str, int], named: Iterable[int]) -> Finding:
    idea = by_text.get(finding.key, 0)
    also = tuple(dict.fromkeys(number for number in named if number and number != idea))
    if (idea, also) == (finding.idea, finding.also):
        return finding
    return replace(finding, idea=idea, also=also)


def _name_ideas(ideas: Mapping[int, Idea], findings: Iterable[Finding]) -> dict[int, Idea]:
    """Name each idea by the first finding that says it; one that lost all its texts keeps its name."""
    first: dict[int, Finding] = {}
    for finding in findings:
        first.setdefault(finding.idea, finding)
    named = dict(ideas)
    for number, idea in ideas.items():
        if number in first:
            finding = first[number]
            named[number] = replace(idea, text=finding.core_idea, round=finding.round)
    return named


def _count_backers(
    ideas: Mapping[int, Idea], findings: Iterable[Finding], refuted: Collection[str]
) -> tuple[dict[int, Idea], dict[SeatId, tuple[int, ...]]]:
    """Return the ideas with those who back them by these findings, and what each author holds by its last report among them."""
    since: dict[int, dict[SeatId, int]] = {number: {} for number in ideas}
    last: dict[SeatId, tuple[int, set[int]]] = {}
    for finding in findings:
        if finding.seat not in last or last[finding.seat][0] != finding.round:
            last[finding.seat] = (finding.round, set())
        # What the validator refuted backs nothing, nor does what its author rates low.
        if finding.key in refuted or _is_rated_low(finding):
            continue
        for number in (finding.idea, *finding.also):
            if number in since:
                # `setdefault` keeps the first round: who held an idea since its founding round counts as independent.
                since[number].setdefault(finding.seat, finding.round)
                last[finding.seat][1].add(number)
    backed = {number: replace(idea, since=since[number]) for number, idea in ideas.items()}
    return backed, {seat: tuple(sorted(numbers)) for seat, (_, numbers) in last.items()}


def _is_rated_low(finding: Finding) -> bool:
    return finding.rating is not None and finding.rating < HELD_FROM
