"""A person's seat in the browser (W-5), and what the link to it opens: that session and nothing else (W-7)."""

import re
import time
from typing import Any

from playwright.sync_api import Page, Route, expect
from tests.acceptance.doors import until
from tests.acceptance.server import Server
from tests.browser.pages import HIDE, KEEP_NOTICES, Visit

TOPIC = "Do we move the offices to the river?"
YOUR_TURN = re.compile(f"Your turn.*{re.escape(TOPIC)}")
CALL_ALL = """
async ([methods, given]) => {
  const answers = {};
  for (const [method, params] of methods) {
    const response = await fetch("/rpc", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0", id: 1, method, params: Object.fromEntries(params.map((each) => [each, given[each]])),
      }),
    });
    answers[method] = await response.text();
  }
  return answers;
}
"""


def send(page: Page) -> None:
    page.locator("form.ask").get_by_role("button", name="Send the answer").click()


def confirm(page: Page, choice: str, *, is_complete: bool = False) -> None:
    """Send what was understood: first this choice; what was left empty is said as well."""
    form = page.locator("[data-test=confirm]")
    expect(form.locator("dd").first).to_have_text(choice)
    if not is_complete:
        expect(form.locator("dd.left-empty").first).to_contain_text("Left empty: ")
    form.get_by_role("button", name="Yes, send it").click()


def timeline(page: Page) -> Any:
    return page.get_by_role("region", name="Timeline")


def test_an_invited_person_sits_speaks_and_votes_among_mailbox_seats(
    server: Server, visit: Visit
) -> None:
    """W-5, W-7: the link works once and leaves no ticket; drafts survive a reload; title and notice say whose turn it is."""
    local = server.local
    session = local.opened(topic=TOPIC, participants=["ada", "bob", "eve"])
    owner = visit(server, f"/s/{session}")
    owner.get_by_role("button", name="Invite …").click()
    dialog = owner.get_by_role("dialog", name="Invite somebody to a seat")
    dialog.get_by_label("Seat").select_option("eve")
    dialog.get_by_role("button", name="Make the invitation").click()
    link = dialog.locator("pre").first.inner_text().strip()
    assert link.startswith(f"http://{server.address}/seat/{session}/eve#ticket="), link
    expect(dialog.locator("pre")).not_to_have_count(1)
    dialog.get_by_role("button", name="Close").click()

    page = visit(server, link, is_nobody=True)
    page.context.add_init_script(KEEP_NOTICES)
    expect(page.get_by_role("heading", name="You sit as eve")).to_be_visible()
    assert page.url == f"http://{server.address}/seat/{session}/eve"
    assert page.evaluate("document.cookie") == ""
    assert not any("ticket" in each for each in page.evaluate("Object.values(localStorage)"))
    expect(visit(server, link, forgiven=["401"]).get_by_role("alert")).to_contain_text(
        "a link works once"
    )
    expect(page).to_have_title(YOUR_TURN)

    form = page.locator("form.ask")
    send(page)
    expect(form.get_by_role("alert")).to_contain_text("Please answer: What do you propose")
    form.get_by_label("What do you propose").fill("Move, but keep the **workshop**.")
    form.get_by_label("Your answer in one to five words").fill("move")
    form.get_by_role("radio", name="sure", exact=True).check()
    page.reload()
    expect(form.get_by_label("What do you propose")).to_have_value(
        "Move, but keep the **workshop**."
    )
    expect(form.get_by_role("radio", name="sure", exact=True)).to_be_checked()
    page.evaluate(HIDE, True)
    send(page)
    expect(page.get_by_text("Recorded.")).to_be_visible()
    expect(page).not_to_have_title(YOUR_TURN)
    # Sealed until all have written: not even the owner reads it.
    expect(
        owner.get_by_role("list", name="Seats").get_by_role("link", name="eve")
    ).not_to_contain_text("is asked")
    expect(owner.get_by_text("What is written now is sealed")).to_be_visible()
    assert "workshop" not in timeline(owner).inner_text()
    for seat in ("ada", "bob"):
        local.say(session, seat, "propose", text=f"{seat} would stay", choice="stay")
    for each in (owner, page):
        expect(timeline(each)).to_contain_text("keep the workshop")
        expect(timeline(each)).to_contain_text("ada would stay")

    # Argue: told by the title and a notice while another tab is in front.
    expect(page).to_have_title(YOUR_TURN)
    until(lambda: page.evaluate("window.notices.length"))
    assert page.evaluate("window.notices.at(-1)") == ["It is your turn, eve", TOPIC]
    page.evaluate(HIDE, False)
    # A terminal's words are buttons here.
    assert "/pass" not in form.inner_text()
    form.get_by_role("radio", name="challenge").check()
    form.get_by_label("Which line do you speak to?").select_option(label="#3 ada: ada would stay")
    form.get_by_label("What do you say?").fill("Where would the **new** ones sit?")
    send(page)
    confirm(page, "challenge", is_complete=True)
    local.say(session, "ada", "support", text="fine")
    local.say(session, "bob", "pass")
    expect(timeline(owner)).to_contain_text("Where would the new ones sit?")
    local.say(session, "ada", "support", text="Upstairs.")
    expect(form.get_by_label("Write the resolution")).to_be_visible()
    assert "/pass" not in form.inner_text()
    form.get_by_role("button", name=re.compile("pass")).click()
    local.say(session, "bob", "pass")
    local.say(
        session,
        "ada",
        "synthesize",
        text="Move the desks, keep the workshop.",
        choice="move the desks",
    )

    expect(form.locator(".about")).to_contain_text("Move the desks, keep the workshop.")
    form.get_by_role("radio", name=re.compile("condition", re.IGNORECASE)).check()
    send(page)
    expect(form.get_by_role("alert")).to_contain_text("Please answer")
    # By when is asked only once there is a condition.
    expect(form.get_by_label(re.compile("By when"))).to_have_count(0)
    form.get_by_label(re.compile("condition", re.IGNORECASE)).last.fill("The workshop stays.")
    form.get_by_label(re.compile("By when")).fill("2027-01-31")
    page.reload()
    expect(form.get_by_label(re.compile("condition", re.IGNORECASE)).last).to_have_value(
        "The workshop stays."
    )
    send(page)
    # What was understood can be taken back; then it is as if nothing was sent.
    counted = ["conditional support", "The workshop stays.", "2027-01-31"]
    empty = ["no reason is given", "not stated", "no entry is named"]
    counted += [f"Left empty: {meaning}" for meaning in empty]
    expect(page.locator("[data-test=confirm] dd")).to_have_text(counted)
    page.keyboard.press("Escape")
    expect(form.get_by_role("radio", name=re.compile("condition", re.IGNORECASE))).to_be_focused()
    assert local.read(session)["waitingFor"] != ["ada", "bob"]
    send(page)
    confirm(page, "conditional support")
    for seat in ("ada", "bob"):
        local.vote(session, seat)
    expect(page.get_by_text("The session is over.")).to_be_visible()
    page.get_by_role("link", name="Decision", exact=True).click()
    expect(page.locator(".memo .strong")).to_contain_text("move the desks")
    expect(owner.locator(".panel .memo .strong")).to_contain_text("move the desks")
    said = local.read(session)["contributions"]
    votes = {each["participant"]: each["position"] for each in said if each["type"] == "vote"}
    assert votes == {"ada": "support", "bob": "support", "eve": "conditional_support"}


def test_whoever_writes_keeps_the_form_while_the_session_goes_on(
    server: Server, visit: Visit
) -> None:
    """W-5, W-10: looking back, a word to the meeting and a slow answer about open asks take neither form nor focus away."""
    local = server.local
    session = local.opened(topic=TOPIC, participants=["ada", "bob"])
    page = visit(server, f"/seat/{session}/ada")
    form = page.locator("form.ask")
    words = form.get_by_label("What do you propose")
    words.press_sequentially("Move, but")
    form.evaluate("form => { form.dataset.kept = 'yes'; }")

    def slow_down(route: Route) -> None:
        if "getPersonAsks" in (route.request.post_data or ""):
            time.sleep(0.5)
        route.continue_()

    page.route("**/rpc", slow_down)
    slider = page.get_by_role("slider", name="The meeting as it was after entry")
    head = local("moot.getView", sessionId=session)["head"]
    slider.fill("1")
    expect(page.locator(".scrubber .place")).to_have_text(re.compile(rf"^entry 1 of {head}(?!.*…)"))
    expect(words).to_have_value("Move, but")
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator(".scrubber .place")).to_have_text(f"{head} entries")
    words.focus()
    local("moot.giveInput", sessionId=session, text="The lease ends in May.")
    expect(timeline(page)).to_contain_text("The lease ends in May.")
    words.press_sequentially(" not in May.")
    expect(words).to_be_focused()
    expect(form).to_have_attribute("data-kept", "yes")
    assert words.input_value().endswith(" not in May.")
    # Somebody else answers for the seat: what was written can still be read.
    written = words.input_value()
    local.say(session, "ada", "propose")
    expect(
        page.get_by_role("status").filter(has_text="This question is no longer open")
    ).to_contain_text(written)


def test_a_seats_link_opens_its_session_and_nothing_else(server: Server, visit: Visit) -> None:
    """W-5, W-7: no view, no call and no stream tells a word of another session."""
    local = server.local
    session, other = local.opened(), local.opened(topic="The secret of the other room")
    head = local.head(other)
    link = local(
        "moot.inviteSeat", sessionId=session, seat="minski", url=f"http://{server.address}"
    )["link"]
    page = visit(server, link, is_nobody=True, forgiven=["40[13]"])
    expect(page.get_by_role("heading", name="You sit as minski")).to_be_visible()
    page.goto("/")
    expect(page.get_by_role("heading", name="You sit as minski")).to_be_visible()
    for path in (
        f"/s/{other}",
        f"/s/{other}?at=2",
        f"/seat/{other}/emerson",
        f"/decisions/{other}",
        "/decisions",
        "/obligations",
        "/breakers",
    ):
        page.goto(path)
        expect(page.get_by_role("alert").first).to_be_visible()
        assert "secret of the other" not in page.content(), path
    # Trust in participants is for every seat to read (D-16); it names no question.
    page.goto("/trust")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert "secret of the other" not in page.content()
    page.goto(f"/seat/{session}/emerson")
    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.locator("form.ask")).to_have_count(0)
    described = local.get("/openrpc.json").json()["methods"]
    given = {
        "sessionId": other, "deliberationId": other, "decisionId": other, "sessionIds": [other], "query": "secret", "entry": 1,
        "topic": "x", "text": "x", "seat": "emerson", "participant": "emerson", "number": 1, "outcome": "success",
    }  # fmt: skip
    methods = [
        (each["name"], [one["name"] for one in each["params"] if one["name"] in given])
        for each in described
    ]
    answers = page.evaluate(CALL_ALL, [methods, given])
    assert len(answers) > 60
    assert [method for method, text in answers.items() if "secret of the other" in text] == []
    refused = {method for method, text in answers.items() if '"error"' in text}
    assert {
        method
        for method, params in methods
        if {"sessionId", "deliberationId", "decisionId"} & {*params}
    } <= refused
    assert (
        page.evaluate("async other => (await fetch(`/events?session=${other}`)).status", other)
        == 403
    )
    assert local.head(other) == head


def test_a_seat_is_answered_by_keyboard_alone(server: Server, visit: Visit) -> None:
    """W-5, W-10: the first field has the focus, letters are letters in a form, arrows choose, focus stays in the story."""
    local = server.local
    session = local.opened(topic=TOPIC, participants=["ada", "bob"], options=["move", "stay"])
    page = visit(server, f"/seat/{session}/ada")
    focused = page.locator("*:focus")
    expect(focused).to_have_attribute("type", "radio")
    # What is typed on a choice runs nothing.
    page.keyboard.type("leaks?/")
    assert "entry=" not in page.url
    assert page.get_by_role("dialog").count() == 0
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="stay")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.type("Because it leaks.")
    form = page.locator("form.ask")
    expect(form.get_by_label("Why?")).to_have_value("Because it leaks.")
    while page.evaluate("document.activeElement.type") != "submit":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[data-test=confirm] dd")).to_have_text(
        ["stay", "Because it leaks.", "Left empty: not stated"]
    )
    page.keyboard.press("Enter")
    expect(page.get_by_text("Recorded.")).to_be_visible()
    expect(focused).to_have_text("You sit as ada")
    local.say(session, "bob", "propose", text="Move.", choice="move")
    # The next question is where the keyboard is.
    expect(focused).to_have_attribute("type", "radio")
    for asked in ("argue", "resolve"):
        assert "/pass" not in form.inner_text(), asked
        assert "its number" not in form.inner_text(), asked
        form.get_by_role("button", name=re.compile("pass|nothing", re.IGNORECASE)).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("Recorded.")).to_be_visible()
        local.say(session, "bob", "pass")
        expect(form).to_be_visible()


def test_what_a_person_types_on_the_page_never_counts_as_something_else(
    server: Server, visit: Visit
) -> None:
    """M-14, W-5: words alone choose nothing, words against the label are asked about, and what was typed is in the record."""
    local = server.local
    typed = {"ada": "OK, I oppose this", "bob": "yes but no", "eve": "支持不了"}
    session = local.opened(topic=TOPIC, participants=list(typed))
    for seat in typed:
        local.say(session, seat, "propose", choice=f"choice of {seat}")
    for seat in typed:
        local.say(session, seat, "pass")
    local.say(session, "ada", "synthesize", text="Move the desks.", choice="move the desks")
    local.say(session, "bob", "pass")
    local.say(session, "eve", "pass")
    before = local.read(session)["cursor"]
    page = visit(server, f"/s/{session}")
    form = page.locator("form.ask")
    for seat, words in typed.items():
        page.goto(f"http://{server.address}/seat/{session}/{seat}")
        form.get_by_label("Why?").fill(words)
        send(page)
        expect(form.get_by_role("alert")).to_contain_text(
            "Please answer: How do you vote on the motion?"
        )
        if seat == "ada":
            form.get_by_role("radio", name="support", exact=True).check()
            send(page)
            confirm(page, "support")
            expect(form.get_by_role("alert")).to_contain_text("which of the two")
            page.get_by_role("button", name="Change it").click()
        assert local.read(session)["cursor"] == before
        form.get_by_role("radio", name="oppose").check()
        send(page)
        confirm(page, "oppose")
        expect(page.get_by_text(re.compile("Recorded.|The session is over."))).to_be_visible()
        before = local.read(session)["cursor"]
    votes = [each for each in local.read(session)["contributions"] if each["type"] == "vote"]
    assert {each["participant"]: (each["position"], each["text"]) for each in votes} == {
        seat: ("oppose", words) for seat, words in typed.items()
    }
