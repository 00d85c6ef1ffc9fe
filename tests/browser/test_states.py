"""Every state has its sentence (W-2, W-1): parked, lost, sealed, waiting, empty, unknown; and what one can do about it."""

import re
import threading

from playwright.sync_api import Route, expect
from tests.acceptance.doors import until
from tests.acceptance.server import SEATS, Server
from tests.browser.pages import Visit

from moothall_testkit.stub_server import Drop, Fail, Request, Step

OUT = threading.Event()


def change_answer(kind: str, request: Request) -> Step | None:
    """One model that refuses one seat for good, and one question that nobody is there for while it is `OUT`."""
    if "Is anybody there?" in request.text and OUT.is_set():
        return Drop()
    return (
        Fail(status=400, message="this model is retired")
        if "You are lost." in request.text
        else None
    )


def test_a_parked_session_says_why_and_is_taken_up_again(server: Server, visit: Visit) -> None:
    """W-2, W-1: in the list and in the session; trying again while nobody answers changes nothing."""
    seats = [{"id": name, "platform": "openai:gpt-stub"} for name in ("for", "against")]
    OUT.set()
    session = server.local(
        "moot.openSession", topic="Is anybody there?", protocol="debate", seats=seats
    )["sessionId"]
    until(lambda: server.local("moot.getView", sessionId=session)["status"] == "parked")
    page = visit(server)
    parked = page.get_by_role("region", name="Parked")
    expect(parked).to_contain_text("They go on when everybody can be asked again")
    parked.get_by_role("link").filter(has_text="Is anybody there?").click()
    expect(page.locator(".state-word")).to_have_text("parked")
    notice = page.get_by_role("status").filter(has_text="The session is parked:")
    expect(notice).to_contain_text("It goes on when everybody can be asked again.")
    OUT.clear()
    notice.get_by_role("button", name="Try again now").click()
    expect(page.locator(".state-word")).to_have_text("concluded")
    expect(page.locator(".panel .memo .strong")).to_be_visible()


def test_a_lost_seat_says_why(server: Server, visit: Visit) -> None:
    """W-2."""
    seats = [{"id": name, "platform": "openai:gpt-stub"} for name in ("for", "against", "lost")]
    session = server.local(
        "moot.openSession", topic="Who is missing?", protocol="debate", seats=seats
    )["sessionId"]
    page = visit(server, f"/s/{session}")
    # A judge that gave no judgement is lost as well.
    seat = page.get_by_role("list", name="Seats").locator("a[href$='seat=lost']")
    expect(seat).to_contain_text("is lost")
    seat.click()
    expect(page.get_by_role("complementary", name="Panel")).to_contain_text("this model is retired")


def test_sealed_waiting_empty_and_unknown_have_a_sentence_each(
    server: Server, visit: Visit
) -> None:
    """W-2, W-1: in English and in Chinese."""
    local = server.local
    session = local.opened()
    page = visit(server, f"/s/{session}")
    expect(page.get_by_text("3 seats from outside are asked.")).to_be_visible()
    local.say(session, "emerson", "propose")
    expect(
        page.get_by_text("What is written now is sealed until everybody has written.")
    ).to_be_visible()
    page.goto("/s/no_such_session")
    expect(page.get_by_role("alert")).to_contain_text("no_such_session")
    expect(page.get_by_role("link", name="All sessions", exact=True)).to_be_visible()
    page.goto(f"/seat/{session}/nobody")
    expect(page.get_by_role("alert").first).to_contain_text("nobody")
    for path, told in (
        ("/decisions/none", "none"),
        ("/trust/none", "none"),
    ):
        page.goto(path)
        expect(page.get_by_role("main")).to_contain_text(told)
    page.goto("/new?topic=")
    expect(
        page.get_by_text("Write the question: then the calls and the price to expect stand here.")
    ).to_be_visible()
    expect(page.get_by_role("button", name="Start the session")).to_be_disabled()
    page.goto("/obligations")
    expect(page.get_by_text("Nothing is due.")).to_be_visible()
    page.get_by_role("combobox", name="Language").select_option(label="中文")
    expect(page.get_by_text("没有待履行的义务。")).to_be_visible()
    page.goto("/s/no_such_session")
    expect(page.get_by_role("link", name="全部会议", exact=True)).to_be_visible()


def test_what_is_written_is_not_lost(server: Server, visit: Visit) -> None:
    """W-2, W-1: neither on a slow line nor by a failed call; a limit that is no number is refused, steps are read by line."""
    seats = [{"id": seat} for seat in SEATS]
    session = server.local(
        "moot.openSession", topic="What is said?", protocol="persona", seats=seats
    )["sessionId"]
    page = visit(server, f"/s/{session}", forgiven=["ERR_FAILED"])
    word, alert, held = (
        page.get_by_label("Say something to the meeting"),
        page.get_by_role("alert"),
        list[Route](),
    )

    def hold(route: Route) -> None:
        held.append(route) if "moot.giveInput" in (
            route.request.post_data or ""
        ) else route.continue_()

    def take() -> Route:
        while not held:
            page.wait_for_timeout(20)
        return held.pop()

    page.route("**/rpc", hold)
    word.fill("First this.")
    word.press("Control+Enter")
    word.press("End")
    word.press_sequentially(" Then that.")
    take().continue_()
    expect(word).to_have_value("Then that.")
    word.press("Control+Enter")
    sent = take()
    sent.fetch()
    sent.abort()
    expect(alert).to_contain_text("The server does not answer.")
    page.unroute("**/rpc")
    # It was recorded all the same: other words are another input.
    word.fill("Then that, or nothing.")
    page.get_by_role("button", name="Send").click()
    expect(word).to_have_value("")
    expect(page.locator(".timeline")).to_contain_text("Then that, or nothing.")
    # Too long is refused in words, not cut.
    word.fill("x" * 20_001)
    page.get_by_role("button", name="Send").click()
    expect(alert).to_contain_text("at most 20000")
    page.goto("/new?topic=What may it cost?")
    page.get_by_text("Possible answers, stakes").click()
    page.get_by_label("money").fill("5,50")
    expect(page.get_by_label("What it will take")).to_contain_text(
        "money: Input should be a valid number"
    )
    page.get_by_label("money").fill("")
    page.get_by_role("radio", name="Seats of my own").check()
    page.get_by_role("radio", name="Pipeline").check()
    page.get_by_role("textbox", name="steps").fill(
        "draft, ada: Write it.\ncheck, bob, gate: Is it right?"
    )
    expect(page.get_by_label("What it will take")).to_contain_text("does not ask them itself: me.")
    page.reload()
    expect(page.get_by_label("The question", exact=True)).to_have_value("What may it cost?")


def test_a_seat_whose_question_cannot_be_loaded_asks_for_it_again(
    server: Server, visit: Visit
) -> None:
    """W-5, W-2: meanwhile nobody says that it is not their turn."""
    page = visit(server, "/decisions", forgiven=["ERR_FAILED"])
    page.clock.install()
    page.route(
        "**/rpc",
        lambda route: (
            route.abort()
            if "getPersonAsks" in (route.request.post_data or "")
            else route.continue_()
        ),
    )
    page.goto(f"/seat/{server.local.opened()}/emerson")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    expect(page.get_by_text("It is not your turn now.")).to_have_count(0)
    page.unroute("**/rpc")
    page.clock.fast_forward(3000)
    expect(page.get_by_text("It is your turn").last).to_be_visible()
    page.route(
        "**/rpc",
        lambda route: (
            route.abort() if "planSession" in (route.request.post_data or "") else route.continue_()
        ),
    )
    page.goto("/new?topic=What will it take?")
    expect(page.get_by_label("What it will take")).to_contain_text("The server does not answer.")
    page.unroute("**/rpc")
    page.clock.fast_forward(3000)
    expect(page.get_by_label("What it will take")).to_contain_text("Calls")


def test_who_may_only_watch_is_offered_nothing_else(server: Server, visit: Visit) -> None:
    """W-2, W-7: an observer's link."""
    session = server.local.opened()
    link = server.cli.json("invite", session, "--observer", "--url", f"http://{server.address}")[
        "link"
    ]
    page = visit(
        server, link, is_nobody=True, forgiven=["401"]
    )  # a call under way when it signs out
    # Signed in: the link's ticket was exchanged.
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"/s/{session}")
    expect(page.get_by_role("status").filter(has_text="Waiting for")).to_contain_text("emerson")
    assert page.get_by_role("button", name=re.compile("Invite|Stop|Conclude|Send")).count() == 0
    page.get_by_role("slider").fill("1")
    expect(page.locator(".scrubber .place")).to_contain_text("entry 1 of")
    assert page.get_by_role("button", name="Fork from here").count() == 0
    # Who may not open a session is not led to it.
    page.goto("/?q=nothing-like-it")
    expect(page.get_by_text("No session is like that.")).to_be_visible()
    page.goto("/new?topic=May I?")
    expect(page.get_by_role("alert")).to_contain_text("You may not open sessions here")
    expect(page.get_by_role("button", name="Start the session")).to_be_disabled()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_who_signs_in_next_reads_nothing_of_who_was_there(server: Server, visit: Visit) -> None:
    """W-7: the same tab, from an owner's token to one for a single session."""
    others, session = (
        server.local.opened(topic="For owners only?"),
        server.local.opened(topic="For everybody?"),
    )
    owner, reader = (
        server.cli.json("invite", *words)["token"] for words in (["--owner"], [session, "--owner"])
    )
    page = visit(server, is_nobody=True, forgiven=["401"])
    for token in (owner, reader):
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link").filter(has_text="For everybody?")).to_be_visible()
        assert page.get_by_role("link").filter(has_text="For owners only?").count() == (
            token == owner
        )
        assert page.get_by_role("link", name="Ask something").count() == (token == owner)
        page.get_by_role("button", name="Sign out").click()
    assert others != session


def test_an_operator_keeps_its_buttons_while_a_meeting_goes_on(
    server: Server, visit: Visit
) -> None:
    """W-2, W-7: what it may do stays offered after each change, and what it may not is never offered."""
    session = server.local.opened()
    link = server.cli.json("invite", "--operator", "--url", f"http://{server.address}")["link"]
    page = visit(server, link, is_nobody=True)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_role("link", name="Ask something")).to_be_visible()
    page.goto(f"/s/{session}")
    buttons = [
        page.get_by_role("button", name=name, exact=True)
        for name in ("Conclude now", "Send", "Stop")
    ]
    for button in buttons:
        expect(button).to_be_visible()
    for seat in SEATS:
        server.local.say(session, seat, "propose", text=f"{seat} begins with the smallest part.")
    expect(page.get_by_text("minski begins with the smallest part.").first).to_be_visible()
    for button in buttons:
        expect(button).to_be_visible()
    assert page.get_by_role("button", name="Invite").count() == 0
