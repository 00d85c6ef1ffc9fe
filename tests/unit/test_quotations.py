"""Quotations, judged by code as a careful reader would (E-4)."""

import pytest

from moothall.domain.quotations import check_quotations, list_cited_lines
from moothall.domain.topic import ContextFile, Topic, build_context
from moothall.reports import blocks
from moothall.reports.given import build_given

CONTRACT = """# Supply contract

The buyer may cancel within 30 days of delivery.
After that, a fee of 40,000 euros is due.
The seller is unable to pay damages beyond "the agreed price".
Deliveries are made on working days - never on holidays.
"""
NOTES = """Meeting of 3 May
Ada: we are able to ship in June.
The pilot had **12 of 20** users return in the second week.
Nobody has tested the import of old invoices.
"""
CHINESE = """第一条 买方可以在交货后三十日内取消合同。
第二条 逾期须支付违约金四万欧元。
"""
SAID = {
    3: "Let us wait until the import was tested twice.",
    4: "I would rather ship now and repair later.",
}


@pytest.fixture
def files() -> tuple[ContextFile, ...]:
    given = {"docs/contract.md": CONTRACT, "notes.md": NOTES, "合同.txt": CHINESE}
    return build_context(ContextFile(name=name, text=text) for name, text in given.items())


F, E, N, P = "found", "elsewhere", "not_found", "no_place"
CASES: list[tuple[str, list[str]]] = [
    # Exact, with and without a place.
    ('contract.md says "The buyer may cancel within 30 days of delivery."', [F]),
    ("“The buyer may cancel within 30 days of delivery” (docs/contract.md:3)", [F]),
    ("As notes.md:4 reads, “Nobody has tested the import of old invoices.”", [F]),
    ("“Nobody has tested the import of old invoices” is what worries me.", [F]),
    ("> Nobody has tested the import of old invoices.\n(notes.md:4)", [F]),
    ("The contract states „a fee of 40,000 euros is due“.", [F]),
    ("«we are able to ship in June» (notes.md:2)", [F]),
    # Other white space, width, case, marks, emphasis, dashes.
    ("contract.md: “The buyer  may\ncancel within 30 days”", [F]),
    ("contract.md: “THE BUYER MAY CANCEL within 30 days”", [F]),
    ("contract.md: “beyond 'the agreed price'”", [N]),
    ("contract.md: “unable to pay damages beyond “the agreed price””", [F]),
    ("notes.md says “12 of 20 users return in the second week”", [F]),
    ("notes.md says “**12** of 20 users return”", [F]),
    ("contract.md: “made on working days – never on holidays”", [F]),
    ("contract.md: “Deliveries are made on working days — never on holidays.”", [F]),
    ("contract.md: “a fee of 40,000 euros is due,”", [F]),
    # Cut.
    ("contract.md: “The buyer may cancel … of delivery.”", [F]),
    ("contract.md: “The buyer may cancel ... of delivery.”", [F]),
    ("contract.md: “The buyer may cancel [...] of delivery.”", [F]),
    ("contract.md: “[T]he buyer may cancel within 30 days”", [F]),
    ("contract.md: “… a fee of 40,000 euros is due”", [F]),
    ("contract.md: “of delivery … The buyer may cancel”", [N]),
    ("contract.md: “The buyer may … pay a higher price”", [N]),
    # Invented, paraphrased, changed by a word or a figure.
    ("contract.md says “The buyer may cancel within 60 days of delivery.”", [N]),
    ("contract.md says “The buyer may cancel at any time.”", [N]),
    ("contract.md says “The buyer may not cancel within 30 days of delivery.”", [N]),
    ("contract.md says “a fee of 4,000 euros is due”", [N]),
    ("contract.md says “a fee of 40,000 dollars is due”", [N]),
    ("notes.md:3 says “14 of 20 users return”", [N]),
    ("According to the contract, “delivery is free of charge for everyone”.", [N]),
    ("The file says “all tests are green and stay green”.", [N]),
    # Parts of words and of numbers do not count.
    ("contract.md says “able to pay damages”", [N]),
    ("contract.md says “000 euros is due”", [N]),
    ("contract.md says “0 days of delivery”", [N]),
    # The right words in the wrong place.
    ("notes.md says “The buyer may cancel within 30 days of delivery.”", [E]),
    ("contract.md:3 says “a fee of 40,000 euros is due”", [F]),
    ("notes.md:1 says “Nobody has tested the import of old invoices.”", [E]),
    ("contract.md: “Nobody has tested the import of old invoices.”", [E]),
    ("“we are able to ship in June” (docs/contract.md:3)", [E]),
    ("“a fee of 40,000 euros is due” (合同.txt)", [E]),
    # Places that do not exist.
    ("See notes.md:40 for the reason.", [P]),
    ("See contract.md:3-90.", [P]),
    ("See notes.md:4 for the reason.", []),
    ("See notes.md for the reason.", []),
    # What others said.
    ("As #3 says, “wait until the import was tested twice”.", [F]),
    ("#4 wrote “ship now and repair later”", [F]),
    ("#4 wrote “wait until the import was tested”", [E]),
    ("#3 said “ship at once and never look back”", [N]),
    ("“rather ship now and repair later” is what I heard.", [F]),
    # No quotations: words in marks, irony, titles, own coinages, code.
    ("We need a “clean slate” here.", []),
    ("The so-called “quick and dirty fix” is neither.", []),
    ("I call this “the long way round the house”.", []),
    ("It isn't what we'd want, and that's that.", []),
    ("Use `moot run --file notes.md` for it.", []),
    ("No marks at all.", []),
    # Chinese, simplified marks and punctuation.
    ("合同.txt 规定：“买方可以在交货后三十日内取消合同。”", [F]),
    ("合同.txt:2 写明「逾期须支付违约金四万欧元」", [F]),
    ("合同.txt 规定：“买方可以在交货后三十日内取消合同”，所以不急。", [F]),
    ("合同.txt 规定：“买方可以在交货后……取消合同”", [F]),
    ("合同.txt 规定：“买方可以在交货后六十日内取消合同”", [N]),
    ("合同.txt 规定：“卖方须赔偿一切损失”", [N]),
    ("notes.md 写道：“逾期须支付违约金四万欧元”", [E]),
    ("这就是所谓的“快刀斩乱麻”。", []),
    # Several in one text.
    (
        'contract.md:3 says "within 30 days of delivery", and notes.md says "we are able to ship in May".',
        [F, N],
    ),
]


@pytest.mark.parametrize(("text", "wanted"), CASES, ids=range(len(CASES)))
def test_a_quotation_is_judged_as_a_careful_reader_would(
    files: tuple[ContextFile, ...], text: str, wanted: list[str]
) -> None:
    """E-4: found, found elsewhere, not found, no such place; what is no quotation of a source is left alone."""
    assert [each.verdict for each in check_quotations(text, files, SAID)] == wanted


def test_the_corpus_has_sixty_cases_of_every_kind() -> None:
    """E-4: at least sixty, and each verdict more than once."""
    assert len(CASES) >= 60
    verdicts = [each for _, wanted in CASES for each in wanted]
    assert all(verdicts.count(each) > 1 for each in (F, E, N, P))


def test_a_place_says_where_it_stands(files: tuple[ContextFile, ...]) -> None:
    """E-4: file and line, or the entry."""
    (one,) = check_quotations("notes.md says “a fee of 40,000 euros is due”", files, SAID)
    assert (one.cited, one.place) == ("notes.md", "docs/contract.md:4")
    (other,) = check_quotations("“wait until the import was tested twice”", files, SAID)
    assert other.place == "#3"


def test_hostile_text_costs_no_time(files: tuple[ContextFile, ...]) -> None:
    """E-4: marks without an end, thousands of them, and nests."""
    for text in (
        "“" * 20_000,
        '"a ' * 10_000,
        "> \n" * 10_000,
        "…" * 20_000,
        "notes.md:" * 3_000,
        "「『" * 5_000,
    ):
        check_quotations(text, files, SAID)


def test_a_pdf_is_read_page_by_page_and_what_is_cited_is_marked() -> None:
    """E-1, E-4: also a line that the report would be too short for; the other files are as they were."""
    text = "[page 1]\nThe plan costs 40,000 euros.\n[page 2]\n" + "\n".join(
        f"Clause {n} is dull." for n in range(2_000)
    )
    text += "\n[page 3]\nDull as well.\nThe end."
    files = build_context(
        [
            ContextFile(name="plan.pdf", text=text, original="ab" * 32),
            ContextFile(name="a.md", text="One.\nTwo."),
        ]
    )
    citing = (
        ("a.md", 2, (3,)),
        ("plan.pdf", 2, (3, 5)),
        ("plan.pdf", 1990, (5,)),
        ("plan.pdf", 2006, (6,)),
    )
    _, plan, notes = build_given("en", Topic(context=files), citing)
    assert isinstance(plan, blocks.Details)
    assert isinstance(notes, blocks.Details)
    assert notes.blocks[1] == blocks.Preformatted(("1: One.", "2: Two.  ← #3"), (1,))
    first, second, third = (each for each in plan.blocks if isinstance(each, blocks.Details))
    assert [each.summary for each in (first, second, third)] == [
        "page 1 · ← #3, #5",
        "page 2 · ← #5",
        "page 3 · ← #6",
    ]
    assert third.blocks == (blocks.Preformatted(("2004: [page 3]", "2006: The end.  ← #6"), (1,)),)
    assert first.blocks == (
        blocks.Preformatted(("1: [page 1]", "2: The plan costs 40,000 euros.  ← #3, #5"), (1,)),
    )
    (shown,) = second.blocks
    assert isinstance(shown, blocks.Preformatted)
    assert shown.lines[-1] == "1990: Clause 1986 is dull.  ← #5"
    assert len(shown.lines) < 1_200
    assert list_cited_lines("plan.pdf:2 and a.md:1-99, not a.md:9", files) == [
        ("plan.pdf", 2, 2),
        ("a.md", 1, 2),
    ]
