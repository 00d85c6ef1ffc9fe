"""Quotations, judged by code as a careful reader would (E-4)."""

import random

import pytest
from tests.support.growth import measure_growth

from moothall.domain import quotations
from moothall.domain.quotations import check_quotations, list_cited_lines, locate_quotation
from moothall.domain.topic import ContextFile, Topic, build_context
from moothall.reports import blocks
from moothall.reports.given import build_given, format_size

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


F, S, E, N, P = "found", "said", "elsewhere", "not_found", "no_place"
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
    ("notes.md says “M … we are able to ship in June”", [N]),
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
    ("“rather ship now and repair later” is what I heard.", [S]),
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
    assert (other.verdict, other.place) == ("said", "#3")


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


def write_lease(lines: int) -> str:
    chance = random.Random(7)
    words = [
        "the",
        "lease",
        "says",
        "zebra",
        "clause",
        "of",
        "and",
        "to",
        "tenant",
        "rent",
        "building",
        "house",
    ]
    return "\n".join(" ".join(chance.choices(words, k=10)) for _ in range(lines))


def check_afresh(text: str, source: str) -> list[str]:
    """The verdicts on a text, with nothing that is remembered of the file."""
    quotations._fold_file.cache_clear()
    files = (ContextFile(name="lease.md", text=source),)
    return [each.verdict for each in check_quotations(text, files, {})]


@pytest.mark.timeout(120)
def test_a_quotation_in_parts_costs_as_much_as_the_file_is_long() -> None:
    """E-4: four times the file is no sixteen times the work, and forty quotations are not forty times."""
    said = 'The lease says "the … zebra crossing nobody". '
    small, large = write_lease(7_500), write_lease(30_000)
    sources = {len(small): small, len(large): large}
    grown = measure_growth(lambda size: check_afresh(said, sources[size]), len(small), len(large))
    assert grown < 8
    more = measure_growth(lambda count: check_afresh(said * count, large), 1, 40)
    assert more < 10
    assert check_afresh(said * 40, large) == [N] * 40


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("a … b", N),
        ("a a a … a b … a a", N),
        ("a … " * 400 + "b", N),
        ("a … " * 400 + "a a", F),
        ("aa aa aa", N),
    ],
)
def test_a_file_of_one_letter_again_and_again_is_searched_at_once(words: str, verdict: str) -> None:
    """E-4: not for every place at which a quotation might begin."""
    assert check_afresh(f'lease.md says "{words}"', "a " * 950_000) == [verdict]


def test_how_many_places_are_looked_at_is_bounded() -> None:
    """E-4: for each quotation, also where its words stand inside of others a million times."""
    looks = quotations._Looks()
    assert quotations._find_words("a a … b", "xa a ax " * 200_000 + "b", 0, looks) == -1
    assert looks.left == 0
    looks = quotations._Looks()
    assert quotations._find_words("a … of the zebra", "a " * 900_000 + "of the zebra", 0, looks) > 0
    assert looks.left > quotations.MAX_LOOKS - 300


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("Deliveries are … holidays", 6),
        ("The buyer … delivery … fee … is due", 3),
        ("a fee … is unable … holidays", 4),
        ("is … is … is", 0),
        ("the agreed price … The buyer may", 0),
    ],
)
def test_parts_are_looked_for_around_the_rarest_one(words: str, line: int) -> None:
    """E-4: the others stand before it and behind it, in their order."""
    assert locate_quotation(words, ContextFile(name="contract.md", text=CONTRACT), 1) == line


def test_parts_that_stand_far_apart_are_no_quotation() -> None:
    """E-4: what is between two parts has a limit, in both directions."""
    near = "The buyer pays. " + "x " * 900 + "The seller waits."
    far = "The buyer pays. " + "x " * 1_100 + "The seller waits."
    for source, verdict in ((near, F), (far, N)):
        for words in ("The buyer pays … The seller waits", "buyer pays … The seller waits."):
            assert check_afresh(f'lease.md says "{words}"', source) == [verdict]


def test_lines_that_are_cited_again_and_again_cost_no_time() -> None:
    """E-4: names of files in each other, thousands of times."""
    files = tuple(ContextFile(name=name, text="One.") for name in ("a/b.md", "c/b.md", "b.md"))
    grown = measure_growth(lambda size: check_quotations("b.md " * size, files, {}), 1_000, 4_000)
    assert grown < 10


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
    plan, notes = build_given("en", Topic(context=files), citing)[1:]
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


def test_the_report_of_a_session_that_is_over_has_what_was_cited_and_lists_the_rest() -> None:
    """E-1: a short cited file whole, of a long one the lines around; the others by name, size and hash; all of it while it runs."""
    long = "\n".join(f"Line {number} of the plan says nothing new." for number in range(1, 1_001))
    pages = "\n".join(f"[page {number}]\nPage {number} is dull." for number in range(1, 400))
    files = build_context(
        [
            ContextFile(name="long.md", text=long),
            ContextFile(name="short.md", text="One.\nTwo."),
            ContextFile(name="dull.md", text="Nobody reads this."),
            ContextFile(name="plan.pdf", text=pages, original="ab" * 32),
            ContextFile(name="other.pdf", text="[page 1]\nUnread.", original="cd" * 32),
        ]
    )
    citing = (
        ("long.md", 2, (3,)),
        ("long.md", 500, (4, 5)),
        ("plan.pdf", 200, (6,)),
        ("short.md", 2, (3,)),
    )
    _, plan, short, pdf, rest = build_given("en", Topic(context=files), citing, is_over=True)
    assert isinstance(plan, blocks.Details)
    assert isinstance(short, blocks.Details)
    assert isinstance(pdf, blocks.Details)
    assert isinstance(rest, blocks.Details)
    passages = plan.blocks[1]
    assert isinstance(passages, blocks.Preformatted)
    numbers = [int(line.split(":")[0]) for line in passages.lines]
    assert numbers == [1, 2, 3, 4, 5, *range(497, 504)]
    assert [passages.lines[place].split("← ")[1] for place in passages.marked] == ["#3", "#4, #5"]
    left = plan.blocks[2]
    assert isinstance(left, blocks.Line)
    assert "characters more" in str(left.text)
    assert short.blocks[1] == blocks.Preformatted(("1: One.", "2: Two.  ← #3"), (1,))
    titles = [each.summary for each in pdf.blocks if isinstance(each, blocks.Details)]
    assert titles == ["page 99", "page 100 · ← #6", "page 101"]
    assert rest.summary == "Given and not cited: 2 files"
    assert rest.blocks == (
        blocks.Table(
            ("file", "size", "SHA-256"),
            (("dull.md", "18 B", files[2].sha256), ("other.pdf", "16 B", "cd" * 32)),
        ),
    )
    running = build_given("en", Topic(context=files), citing)
    assert len(running) == 1 + len(files)
    assert build_given("en", Topic(context=files), is_over=True)[1:] == (
        blocks.Details(
            "Given and not cited: 5 files",
            (
                blocks.Table(
                    ("file", "size", "SHA-256"),
                    tuple(
                        (each.name, format_size(each.size), each.original or each.sha256)
                        for each in files
                    ),
                ),
            ),
        ),
    )
