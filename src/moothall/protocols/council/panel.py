"""Adaptive panels: seats are asked one after another until their blind choices settle the question."""

from dataclasses import dataclass
from typing import Final

from moothall.domain.topic import normalize_label
from moothall.protocols.council.motions import find_blind_positions
from moothall.protocols.council.state import Council, find_accuracy
from moothall.scoring.independence import build_seat_correlations, compute_independence
from moothall.scoring.posterior import OPEN_OPTIONS, compute_posterior, compute_record_weight

ENOUGH_LEAD: Final = 3
"""How many more seats than for any other choice settle the question."""

ENOUGH_POSTERIOR: Final = 0.80
"""The posterior of a choice that settles it; measured with the lead in `bench/decisions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelLead:
    """The choice that leads, by how many seats, and how likely it is right."""

    choice: str
    lead: int
    posterior: float

    @property
    def is_settled(self) -> bool:
        return self.lead >= ENOUGH_LEAD or self.posterior >= ENOUGH_POSTERIOR


def find_panel_lead(state: Council) -> PanelLead | None:
    """Return the choice that leads among the blind positions so far; None without any, or if two lead alike."""
    named = {seat: choice for seat, line in find_blind_positions(state).items() if (choice := normalize_label(line.said.choice))}
    if not named:
        return None
    options = len(state.opened.subject.options) or OPEN_OPTIONS
    voters = [seat for seat in state.seats if seat.id in named]
    correlations = build_seat_correlations(state.opened.subject.error_correlations, voters)
    worths = compute_independence(len(voters), lambda i, j: correlations(voters[i].id, voters[j].id))
    counts: dict[str, int] = {}
    scores: dict[str, float] = {}
    for seat, worth in zip(voters, worths, strict=True):
        choice = named[seat.id]
        counts[choice] = counts.get(choice, 0) + 1
        scores[choice] = scores.get(choice, 0.0) + worth * compute_record_weight(find_accuracy(seat), options)
    posteriors = compute_posterior(scores, options)
    ranked = sorted(posteriors, key=lambda choice: (-round(posteriors[choice], 9), -counts[choice]))
    best = ranked[0]
    others = max((counts[choice] for choice in ranked[1:]), default=0)
    if len(ranked) > 1 and round(posteriors[best], 9) == round(posteriors[ranked[1]], 9) and counts[best] == counts[ranked[1]]:
        return None
    return PanelLead(choice=best, lead=counts[best] - others, posterior=posteriors[best])
