"""Names of seats that a reader would take for one another, and links whose words are another address."""

import pytest

from moothall.domain.ids import SeatId, parse_seat_id
from moothall.domain.roster import MAILBOX, Seat, validate_seats
from moothall.errors import BadName, BadRoster
from moothall.reports.page import DEEPEST, render_words


@pytest.mark.parametrize("name", ["аda", "Adа", "Ρaul", "uѕer", "ՍSER", "ＵＳＥＲ", "uSer", "υser"])
def test_a_name_of_letters_from_scripts_that_look_alike_is_refused(name: str) -> None:
    """N-7: also one that looks like the person who asks."""
    with pytest.raises(BadName):
        parse_seat_id(name)


@pytest.mark.parametrize(
    "name", ["AI助手", "Zoé", "प्रिया", "МАРИЯ", "Σοφία", "ada-2", "やまだtaro"]
)
def test_names_of_every_script_and_of_scripts_that_do_not_look_alike_are_taken(name: str) -> None:
    assert parse_seat_id(name) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ace", "асе"),
        ("Ada", "ADA"),
        ("I", "l"),
        ("agent1", "agentl"),
        ("R0", "RO"),
        ("ada", "𝐚da"),
        ("hot", "НОТ"),
    ],
)
def test_two_seats_that_look_alike_are_refused_in_whichever_order(one: str, other: str) -> None:
    """N-7: letters of other scripts, fonts as letters, capital I and small l, zero and O."""
    seats = [Seat(id=SeatId(name), platform=MAILBOX) for name in (one, other)]
    for order in (seats, seats[::-1]):
        with pytest.raises(BadRoster, match="two seats are called"):
            validate_seats(order)


def test_seats_named_by_single_letters_are_told_apart() -> None:
    for letters in ("abcdefghijklmno", "ABCDEFGHIJKLMNO", "0123456789"):
        assert len(
            validate_seats([Seat(id=SeatId(each), platform=MAILBOX) for each in letters])
        ) == len(letters)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[https://bank.example](https://evil.example/x)", "(evil.example)"),
        ("[bank.example/evil.example](https://evil.example)", "(evil.example)"),
        ("[**www.bank.example**](//evil.example)", "(evil.example)"),
        ("[bank.example](mailto:x@evil.example)", "(x@evil.example)"),
        ("<https://a.example/page.html>", ""),
        ("[www.a.example](https://a.example/x)", ""),
        ("[our page](https://a.example)", ""),
        ("<http://[HOST:PORT]/>", ""),
        ("[bank.example](http://[HOST:PORT]/)", "(http://[HOST:PORT]/)"),
    ],
)
def test_a_link_whose_words_are_another_address_shows_where_it_leads(text: str, shown: str) -> None:
    """N-7: in the HTML report, and in the page, which shows what is rendered here."""
    html = render_words(text)
    assert (f"</a> <small>{shown}</small>" in html, "<small>" in html) == (bool(shown), bool(shown))


@pytest.mark.parametrize("depth", range(1, 2 * DEEPEST))
def test_no_word_is_hidden_however_deep_it_is_quoted(depth: int) -> None:
    """What the parser would leave out is shown as it was typed; what it reads to the end is Markdown."""
    html = render_words("> " * depth + "*deep*")
    is_markdown = "<em>deep</em>" in html
    assert is_markdown or "*deep*" in html
    assert is_markdown == (depth < DEEPEST - 2)
