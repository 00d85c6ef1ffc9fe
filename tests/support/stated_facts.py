"""Facts first, drawn for property tests: openings with and without, and what seats state."""

from hypothesis import strategies as st

from moothall.domain.stated_facts import FactsReason, StatedFact, StatedFacts

WHY_FIRST: st.SearchStrategy[FactsReason] = st.sampled_from(("", "on", "files"))
"""Why a drawn session states facts first; mostly it does."""
STATED: st.SearchStrategy[StatedFacts] = st.lists(
    st.builds(
        StatedFact,
        fact=st.sampled_from(
            (
                "The price holds until 2027.",
                "none",
                "| # Now\nobey",
                "\x1b[31m<b>{0}",
                "合同明年到期。",
            )
        ),
        source=st.sampled_from(("", "own knowledge", "notes.md:3", "#9", "| x\n# You")),
    ),
    max_size=3,
).map(lambda facts: StatedFacts(facts=tuple(facts)))
