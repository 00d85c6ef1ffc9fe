"""A corpus of quotations, each labelled by hand with what a careful reader says of it, before code was run on it (E-8)."""

from typing import Final

import pytest

from moothall.domain.ids import USER
from moothall.domain.quotations import check_quotations
from moothall.domain.topic import ContextFile, build_context

LEASE = """# Lease of the house in Mill Street 4
The rent is 40,000 euros a year.
The tenant may give notice of 90 days.
Pets are allowed with the consent of the landlord.
The tenant repairs what the tenant breaks.
Mr Jones signed for the landlord on 3 May 2021.
The landlord insures the building - never the furniture.
Keys are handed over at 10:30 on the first of the month.
"""
NOTES = """Meeting of 3 May
Ada: we are able to ship in June.
The pilot had **12 of 20** users return in the second week.
Nobody has tested the import of old invoices.
"""
CODE = """import os

def load(path):
    with open(path) as source:
        return source.read()

def run(cmd):
    os.system(cmd)
    return None
"""
CHINESE = """第一条 买方可以在交货后三十日内取消合同。
第二条 年租金为40000欧元，通知期为90天。
"""
INVENTED = "The landlord pays for every repair of the roof"
SAID = {
    1: "May we move out in spring? We can pay 3,500 euros a month.",
    2: f'The lease says "{INVENTED}" and I believe it.',
    3: "Let us wait until the import was tested twice.",
    4: "I would rather ship now and repair later.",
    -7: "Rents in this street rose by 12 percent in 2023, says the city.",
}
SPEAKERS = {1: USER, 2: "lia", 3: "ada", 4: "ben"}

# What a careful reader says, and what it is for the record of who wrote it: held (+), not held (-), or nothing (0).
HELD, FALSE = "found +", "not_found -"
AGREED = "found 0"  # It stands in the entry that it was said to stand in, which is no source.
CLAIMED = "said -"  # It is said to stand in a source, and stands in an entry alone.
ECHO = "said 0"  # It repeats an entry and claims no source.
MOVED, MISHEARD = "elsewhere -", "elsewhere 0"
NOWHERE, OTHER = "no_place -", "differs 0"

Case = tuple[str, list[str]]

REPEATED: Final[list[Case]] = [
    (f'The lease says "{INVENTED}".', [CLAIMED]),
    (f"As lease.md states, “{INVENTED}”.", [CLAIMED]),
    (f"“{INVENTED}” (lease.md:5)", [CLAIMED]),
    (f"lease.md:5: “{INVENTED}”", [CLAIMED]),
    (f"> {INVENTED}\n(lease.md:5)", [CLAIMED]),
    (f"The contract reads “{INVENTED}”, so the roof is theirs.", [CLAIMED]),
    (f"According to the lease, “{INVENTED}”.", [CLAIMED]),
    (f"The document says, word for word: “{INVENTED}”", [CLAIMED]),
    (f"Clause 5 says “{INVENTED}”.", [CLAIMED]),
    (f"“{INVENTED}”: that settles it for me.", [ECHO]),
    (f"lia says “{INVENTED}”, and I doubt it.", [AGREED]),
    (f"#2 says that the lease says “{INVENTED}”.", [AGREED]),
    (f"#2 quotes “{INVENTED}”, which I cannot find.", [AGREED]),
    ("The lease says “The landlord pays … of the roof”.", [CLAIMED]),
    ("THE LEASE SAYS “THE LANDLORD PAYS FOR EVERY REPAIR”.", [CLAIMED]),
    (f"lease.md:\n```text\n{INVENTED}\n```", [CLAIMED]),
    ("notes.md says “wait until the import was tested twice”.", [CLAIMED]),
    ("The file states “rather ship now and repair later”.", [CLAIMED]),
    ("The lease says “The landlord pays for every repair of the house”.", [FALSE]),
    (f"“{INVENTED}” (#2), “{INVENTED}” (lease.md)", [AGREED, CLAIMED]),
]

INVENTED_ONCE: Final[list[Case]] = [
    ("The lease says “The landlord pays all electricity bills”.", [FALSE]),
    ("lease.md:3 says “The tenant may give notice of 30 days.”", [FALSE]),
    ("lease.md:2 reads “The rent is 90,000 euros a year.”", [FALSE]),
    ("According to notes.md “everybody has tested the import”.", [FALSE]),
    ("“Pets are forbidden in the whole house” (lease.md:4)", [FALSE]),
    ("lease.md: “The tenant may not give notice of 90 days”", [FALSE]),
    ("lease.md says “Pets are allowed without the consent of the landlord”", [FALSE]),
    ("app.py:8 reads “os.remove(cmd) and return”", [FALSE]),
    ("#3 said “ship at once and never look back”.", [FALSE]),
    ("lia says “the tenant pays for every repair”.", [FALSE]),
    ("ben wrote: “we should never ship anything”", [FALSE]),
    ("See lease.md:80 for the fee.", [NOWHERE]),
    ("lease.md:3-200 has the details.", [NOWHERE]),
    ("合同.txt 规定：“卖方须赔偿一切损失”", [FALSE]),
    ("合同.txt 规定：“买方可以在交货后六十日内取消合同”", [FALSE]),
    ("The page of the city says “rents fell by half last year”.", [FALSE]),
    ("“a yearly gift of 500 euros to the tenant” is what the lease gives us.", []),
    ("We need a “clean slate” here.", []),
    ("I call this “the long way round the house”.", []),
    ("The so-called “quick and dirty fix” is neither.", []),
]

QUOTED_AGAIN: Final[list[Case]] = [
    ("lease.md says “Pets are allowed with the consent of the landlord.”", [HELD]),
    ("“The tenant repairs what the tenant breaks” (lease.md:5)", [HELD]),
    ("As notes.md:4 reads, “Nobody has tested the import of old invoices.”", [HELD]),
    ("“Nobody has tested the import of old invoices” worries me.", [HELD]),
    ("notes.md says “12 of 20 users return in the second week”", [HELD]),
    ("lease.md: “insures the building – never the furniture”", [HELD]),
    ("> The tenant repairs what the tenant breaks.\n(lease.md:5)", [HELD]),
    ("notes.md says “Pets are allowed with the consent of the landlord”", [MOVED]),
    ("lease.md:8 says “The rent is 40,000 euros a year.”", [MOVED]),
    ("“we are able to ship in June” (lease.md:3)", [MOVED]),
    ("As #3 says, “wait until the import was tested twice”.", [AGREED]),
    ("ada said “wait until the import was tested twice”.", [AGREED]),
    ("Ada writes: “wait until the import was tested twice”.", [AGREED]),
    ("#4 wrote “wait until the import was tested”.", [MISHEARD]),
    ("ben says “wait until the import was tested twice”.", [MISHEARD]),
    ("“rather ship now and repair later” is what I heard.", [ECHO]),
    ("I said “rather ship now and repair later”, and I mean it.", [ECHO]),
    ("She said “wait until the import was tested twice”.", [ECHO]),
    ("The question says “We can pay 3,500 euros a month”.", [HELD]),
    ("“We can pay 3,500 euros a month” (#1)", [HELD]),
    ("The city says “Rents in this street rose by 12 percent in 2023”.", [HELD]),
    ("“rose by 12 percent in 2023” is a fact.", [HELD]),
    ("lease.md says “Rents in this street rose by 12 percent”.", [MOVED]),
    ("#3 says “The tenant repairs what the tenant breaks”.", [MOVED]),
    ("合同.txt 规定：“买方可以在交货后三十日内取消合同。”", [HELD]),
    ("notes.md 写道：“买方可以在交货后三十日内取消合同”", [MOVED]),
]

FENCED: Final[list[Case]] = [
    ("lease.md:5 says:\n```\nThe tenant repairs what the tenant breaks.\n```", [HELD]),
    ("lease.md:5 says:\n```text\nThe tenant repairs what the tenant breaks.\n```", [HELD]),
    ("app.py:7 reads:\n```python\ndef run(cmd):\n    os.system(cmd)\n```", [HELD]),
    ("app.py:7 reads:\n~~~python\ndef run(cmd):\n    os.system(cmd)\n~~~", [HELD]),
    ("app.py:7 reads:\n```python\n7: def run(cmd):\n8:     os.system(cmd)\n```", [HELD]),
    ("app.py:7 reads:\n```\n     7   def run(cmd):\n     8 +     os.system(cmd)\n```", [HELD]),
    ("app.py:7 reads:\n```diff\n+def run(cmd):\n+    os.system(cmd)\n```", [HELD]),
    ("app.py:7 reads:\n```diff\n-def run(cmd):\n-    os.system(cmd)\n```", [HELD]),
    ("app.py:7 reads:\n```\n| 7: def run(cmd):\n| 8:     os.system(cmd)\n```", [HELD]),
    ("app.py:7 reads:\n```python\ndef run(cmd):\n    subprocess.run(cmd)\n```", [FALSE]),
    ("app.py:1 reads:\n```python\ndef run(cmd):\n    os.system(cmd)\n```", [MOVED]),
    ("lease.md:3 says `The tenant may give notice of 90 days.`", [HELD]),
    ("lease.md:3 says `The tenant may give notice of 30 days.`", [FALSE]),
    ("lease.md:3 says “3: The tenant may give notice of 90 days.”", [HELD]),
    ("lease.md:3 says “| 3: The tenant may give notice of 90 days.”", [HELD]),
    ("> 3: The tenant may give notice of 90 days.\n(lease.md:3)", [HELD]),
    ("> ```\n> The tenant may give notice of 90 days.\n> ```\n(lease.md:3)", [HELD]),
    ("lease.md:5 says **“The tenant repairs what the tenant breaks.”**", [HELD]),
    ("Use `moot run --file notes.md` for it.", []),
    ("Put this into app.py:\n```python\ndef stop(cmd):\n    cmd.terminate()\n```", []),
    ('I would write:\n```python\nprint("the contract says hello to all")\n```', []),
    ("An example:\n```\nall of this is made up by me\n```", []),
]

HALF: Final[list[Case]] = [
    ("lease.md says “The tenant may give notice of 90 days and gets all money back”", [FALSE]),
    ("lease.md says “The tenant … of 90 days.”", [HELD]),
    ("lease.md says “Pets are allowed [...] of the landlord.”", [HELD]),
    ("lease.md says “Pets are allowed … of the tenant.”", [FALSE]),
    ("lease.md says “[t]he tenant repairs what the tenant breaks”", [HELD]),
    ("lease.md says “of the landlord … Pets are allowed”", [FALSE]),
    ("lease.md says “enant repairs what the tenant”", [FALSE]),
    ("lease.md says “000 euros a year.”", [FALSE]),
    ("lease.md says “0 days and Pets are allowed”", [FALSE]),
    (
        'lease.md:3 says "notice of 90 days", and notes.md says "able to ship in May".',
        [HELD, FALSE],
    ),
    ("lease.md says “… may give notice of 90 days”", [HELD]),
    ("lease.md says “The rent is 40,000 euros", []),
    ('lease.md says “The rent is 40,000 euros a year."', [HELD]),
    ("合同.txt 规定：“买方可以……取消合同”", [HELD]),
    ("lease.md says “notice of 90 days.\nPets are allowed”", [HELD]),
]

BESIDE: Final[list[Case]] = [
    ("lease.md:2 shows that the rent is 90,000 euros.", [OTHER]),
    ("lease.md:2 shows that the rent is 40,000 euros.", []),
    ("lease.md:2 shows that the rent is 40000 euros.", []),
    ("According to lease.md:3 notice is 30 days.", [OTHER]),
    ("According to lease.md:3, notice is 30 days.", [OTHER]),
    ("According to lease.md:3 notice is 90 days.", []),
    ("Notice is 30 days (lease.md:3).", [OTHER]),
    ("Notice is 90 days (lease.md:3).", []),
    ("lease.md:6 says that it was signed on 5 May 2021.", [OTHER]),
    ("lease.md:6 says that it was signed on May 3, 2021.", []),
    ("lease.md:6 says that Mr Smith signed for the landlord.", [OTHER]),
    ("lease.md:6 says that Mr Jones signed for the landlord.", []),
    ("According to notes.md:2 Bob is able to ship in June.", [OTHER]),
    ("lease.md:8 says that keys are handed over at 11:30.", [OTHER]),
    ("lease.md:2 sets 40,000 euros, which is 120,000 euros in three years.", []),
    ("lease.md:3 does not say 30 days.", []),
    ("lease.md:3 gives 90 days, and I would want 30 days.", []),
    ("I propose 30 days in place of what lease.md:3 has.", []),
    ("lease.md:3 matters for all 4 of us.", []),
    ("合同.txt:2 写明通知期为30天。", [OTHER]),
    ("合同.txt:2 写明通知期为90天。", []),
    ("合同.txt:1 写明可在30日内取消合同。", []),
]

CORPUS: Final = [*REPEATED, *INVENTED_ONCE, *QUOTED_AGAIN, *FENCED, *HALF, *BESIDE]


@pytest.fixture
def files() -> tuple[ContextFile, ...]:
    given = {"lease.md": LEASE, "docs/notes.md": NOTES, "app.py": CODE, "合同.txt": CHINESE}
    return build_context(ContextFile(name=name, text=text) for name, text in given.items())


@pytest.mark.parametrize(("text", "wanted"), CORPUS, ids=range(len(CORPUS)))
def test_each_quotation_is_judged_as_a_careful_reader_would(
    files: tuple[ContextFile, ...], text: str, wanted: list[str]
) -> None:
    """E-8: sources and not echoes, whatever stands round the words, and what it is for the record of a seat."""
    judged: list[str] = []
    for each in check_quotations(text, files, SAID, speakers=SPEAKERS):
        mark = "0"
        if each.is_counted:
            mark = "+" if each.holds else "-"
        judged.append(f"{each.verdict} {mark}")
    assert judged == wanted


def test_the_corpus_has_what_it_must() -> None:
    """E-8: 120 texts of each kind, and every verdict in it more than once."""
    assert len(CORPUS) >= 120
    labels = [label for _, wanted in CORPUS for label in wanted]
    for label in (HELD, FALSE, AGREED, CLAIMED, ECHO, MOVED, MISHEARD, NOWHERE, OTHER):
        assert labels.count(label) > 1
