// What stands round every view: the header, the help, the login.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useKeys } from "./keys";
import { chooseLanguage, language, listOffered, say } from "./language";
import { Action, Dialog, Notice } from "./parts";
import { buildPath, exported, go, page, route } from "./route";
import { stayByLink } from "./grants";
import { describeError, logIn, LoginQuestion, type LoginSecret, logOut, me, needsLogin } from "./rpc";
import { switchTheme, theme } from "./theme";
import { otherTurns } from "./turns";
import type { LoginConflict, Me } from "./wire";

const isHelpOpen = signal(false);

/** Whether the token is for one session alone. */
function isBound(): boolean {
  return Boolean(me.value?.session);
}

export function Header({ children }: { children?: ComponentChildren }) {
  return (
    <header class={`top ${children ? "has-topic" : ""}`}>
      {exported === null ? (
        <a class="brand" data-in href="/" aria-label={say("moot_all_sessions")}>
          moot
        </a>
      ) : (
        <span class="brand">moot</span>
      )}
      {children ?? <Sections />}
      <MyTurns />
      <Tools />
    </header>
  );
}

/** What somebody who is signed in can open: with an invitation its meetings, otherwise all. */
function Sections() {
  // An empty one keeps the header's places.
  if (needsLogin.value) return <span class="sections" />;
  return (
    <nav class="sections" aria-label={say("sections")}>
      <Section to="/" name="" title={say("sessions")} />
      {!isBound() && (
        <>
          <Section to="/decisions" name="decisions" title={say("decisions")} />
          <Section to="/obligations" name="obligations" title={say("obligations")} />
          <Section to="/trust" name="trust" title={say("trust")} />
          <Section to="/breakers" name="breakers" title={say("breakers")} />
        </>
      )}
    </nav>
  );
}

/** The way to the sessions that wait for me; one leads straight to its seat. */
function MyTurns() {
  const [first, ...rest] = otherTurns.value;
  if (!first) return null;
  return (
    <a class="button turns" data-in href={rest.length > 0 ? "/" : buildPath("seat", first.sessionId, first.seat)} title={otherTurns.value.map((each) => each.topic).join("\n")}>
      {say("turns_waiting", { count: rest.length + 1 })}
    </a>
  );
}

/** Language, colours, help, the way out; on a phone a session has them in its lens About. */
export function Tools() {
  return (
      <span class="tools">
        <select class="quiet" aria-label={say("language")} value={language.value} onChange={(event) => chooseLanguage(event.currentTarget.value)}>
          {listOffered().map((each) => (
            <option key={each.code} value={each.code} lang={each.tag}>
              {each.name}
            </option>
          ))}
        </select>
        <button class="quiet" aria-label={theme.value === "dark" ? say("light_colours") : say("dark_colours")} onClick={switchTheme}>
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
        <button class="quiet" aria-label={say("help")} onClick={() => (isHelpOpen.value = true)}>
          ?
        </button>
        {me.value !== null && !isBound() && (
          <a class="quiet tool" data-in href="/settings" aria-label={say("settings")} aria-current={page.value === "settings" ? "page" : undefined}>
            ⚙
          </a>
        )}
        {me.value?.isInvited && (
          <Action class="quiet" do={logOut}>
            {say("sign_out")}
          </Action>
        )}
      </span>
  );
}

function Section({ to, name, title }: { to: string; name: string; title: string }) {
  return (
    <a data-in href={to} aria-current={page.value === name ? "page" : undefined}>
      {title}
    </a>
  );
}

export function Help() {
  useKeys(
    (key) => {
      if (key !== "?") return "ignored";
      isHelpOpen.value = true;
      return "done";
    },
    { isGlobal: true },
  );
  if (!isHelpOpen.value) return null;
  const keys: [string, string][] = [
    ["j  k", say("the_next_the_previous_entry")],
    ["←  →", say("one_entry_back_in_time_one")],
    ["/", say("search")],
    ["i", say("write_your_answer_or_a_word")],
    ["Ctrl/⌘ Enter", say("send_what_is_written")],
    ["Esc", say("back_to_the_decision")],
    ["?", say("this_help")],
  ];
  return (
    <Dialog title={say("help")} onClose={() => (isHelpOpen.value = false)}>
      <p>
        {say("the_meeting_is_a_timeline_everything")}
      </p>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split("  ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="soft">
        {say("supports_supports_with_a_condition_opposes")}
      </p>
    </Dialog>
  );
}

/** `ended`: why what this browser was let in by no longer opens anything; `failed`: why the last try to sign in was refused. */
export function Login({ ended, failed, onLeave }: { ended: string; failed: string; onLeave: () => void }) {
  const [token, setToken] = useState("");
  const problem = failed || ended;
  return (
    <>
      <Header />
      <main class="page narrow">
        <h1>{ended ? say("your_access_here_has_ended") : say("sign_in")}</h1>
        {problem && (
          <Notice tone="bad" action={me.value !== null && <button onClick={onLeave}>{say("go_on_as_before")}</button>}>
            {problem}
          </Notice>
        )}
        <p>{ended ? say("open_the_new_link_in_this_browser") : say("this_server_asks_who_you_are")}</p>
        <form class="form" onSubmit={(event) => event.preventDefault()}>
          <label>
            {say("token")}
            <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
          </label>
          <p class="row">
            <Action
              class="main"
              type="submit"
              disabled={!token.trim()}
              do={async () => {
                const who = await signIn({ token: token.trim() });
                // Loaded anew: nothing stays of what whoever was signed in before could read.
                if (who !== "asked") location.replace(findHome(who));
              }}
            >
              {say("sign_in")}
            </Action>
          </p>
        </form>
        {!ended && (
          <p class="soft">
            {say("lost_it_on_the_machine_of")}
            <code>moot access key</code>
          </p>
        )}
      </main>
    </>
  );
}

/** Where a caller belongs: a seat at its session, everybody else where they wanted to be. */
function findHome(who: Me | null): string {
  if (who?.session && who.seat) return buildPath("seat", who.session, who.seat);
  if (page.value !== "login") return location.href.split("#")[0] ?? "/";
  const to = new URL(route.value.query.get("to") ?? "/", location.origin);
  // Only within this server; whole, since a path that begins with // is another one.
  return to.origin === location.origin ? to.href : "/";
}

/** What a link would take away, until the person has said what to do. */
export const linkQuestion = signal<{ conflict: LoginConflict; by: LoginSecret } | null>(null);

async function signIn(by: LoginSecret): Promise<Me | null | "asked"> {
  try {
    return await logIn(by);
  } catch (error) {
    if (!(error instanceof LoginQuestion)) throw error;
    linkQuestion.value = { conflict: error.conflict, by };
    return "asked";
  }
}

function describeConflict({ kind, seat, heldSeat }: LoginConflict): string {
  switch (kind) {
    case "other_seat":
      return say("you_sit_in_this_meeting_already", { held: heldSeat, seat });
    case "weaker":
      return say("this_browser_may_do_more_already");
    case "beside":
      return seat ? say("open_this_meeting_as_seat", { seat }) : say("open_this_meeting_as_a_reader");
    case "replaces":
      return say("this_browser_is_signed_in_already");
    case "over_seats":
      return say("with_this_link_you_would_speak_for_all", { held: heldSeat });
    case "full":
      return say("this_browser_holds_all_that_fit");
  }
}

/** A link that would take something away opens only when the person says so; until then it is not used up. */
export function LinkQuestion({ conflict, by }: { conflict: LoginConflict; by: LoginSecret }) {
  const { kind, session, seat, heldSeat, mayGoOn } = conflict;
  const own = kind === "full" ? "/" : findPlace(session, heldSeat);
  return (
    <>
      <Header />
      <main class="page narrow" data-test="link-question">
        <h1>{say("a_link_to_open")}</h1>
        <p>{describeConflict(conflict)}</p>
        <p class="row">
          {mayGoOn && (
            <Action
              class="main"
              do={async () => {
                await logIn(by, true);
                if (kind === "beside") stayByLink(session);
                location.replace(findPlace(session, seat));
              }}
            >
              {kind === "beside" ? say("open_it_in_this_tab") : say("sign_in")}
            </Action>
          )}
          <a class={mayGoOn ? "button" : "button main"} href={own}>
            {heldSeat ? say("go_on_as_held", { held: heldSeat }) : say("go_on_as_before")}
          </a>
        </p>
      </main>
    </>
  );
}

function findPlace(session: string, seat: string): string {
  if (!session) return "/";
  return seat ? buildPath("seat", session, seat) : buildPath("s", session);
}

/** Exchange the ticket of a link for a cookie; the ticket leaves the address before anything else happens. */
export async function takeTicket(): Promise<string> {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (!ticket) return "";
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const who = await signIn({ ticket });
    if (who === "asked") return "";
    me.value = who;
    const isAsked = page.value === "login" && route.value.query.has("to");
    const to = findHome(me.value);
    // What was asked for may be no view of the page.
    if (isAsked) location.replace(to);
    else go(to, { replace: true });
    return "";
  } catch (error) {
    return describeError(error);
  }
}
