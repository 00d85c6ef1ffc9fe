// The page: reads the URL, shows the view.
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import "./style.css";
import { shortenText } from "./format";
import { getTag, language, say } from "./language";
import { buildPath, exported, followLinks, isReturning, page, route } from "./route";
import { findViewed } from "./grants";
import { loadMe, me, needsLogin, refusal } from "./rpc";
import { Header, Help, LinkQuestion, linkQuestion, Login, takeTicket } from "./shell";
import { Breakers } from "./views/breakers";
import { Compare } from "./views/compare";
import { DecisionView, Decisions } from "./views/decisions";
import { Home } from "./views/home";
import { NewSession } from "./views/opening";
import { Obligations } from "./views/obligations";
import { SessionView } from "./views/session";
import { SettingsView } from "./views/settings";
import { TrustView, TrustList } from "./views/trust";
import { readStored } from "./storage";
import { followLines } from "./stream";
import { setTitle, startTurns } from "./turns";

const loginFailure = signal("");
/** The first parts of the addresses that are views. */
const VIEWS = new Set(["", "s", "seat", "compare", "new", "decisions", "obligations", "trust", "breakers", "settings"]);

function View() {
  const [, first = "", second = ""] = route.value.path;
  useEffect(() => {
    document.documentElement.lang = getTag();
  }, [language.value]);
  const where = page.value;
  useEffect(() => {
    if (where !== "s" && where !== "seat") {
      const named: Record<string, string> = { new: say("new_session"), decisions: say("decisions"), obligations: say("obligations"), trust: say("trust"), breakers: say("circuit_breakers"), login: say("sign_in"), compare: say("two_sessions_compared"), settings: say("settings") };
      setTitle(named[where] ? `${named[where]} · Moot` : "Moot");
    }
    if (exported === null && me.value !== null) followLines();
  }, [where, first, language.value, me.value]);
  // A new view begins at its top; a session where its timeline begins.
  useEffect(() => {
    if (!isReturning && where !== "s" && where !== "seat") scrollTo(0, 0);
  }, [where, first]);
  if (exported !== null) return <SessionView id="exported" />;
  if (linkQuestion.value) return <LinkQuestion {...linkQuestion.value} />;
  if ((needsLogin.value && VIEWS.has(where)) || loginFailure.value || where === "login") {
    return <Login ended={refusal.value} failed={loginFailure.value} onLeave={() => (loginFailure.value = "")} />;
  }
  switch (where) {
    case "":
      // Who was invited to one seat has one place to be.
      return <Start />;
    case "s":
      return first ? <SessionView id={first} key={first} /> : <Nowhere />;
    case "seat":
      return second ? <SessionView id={first} mySeat={second} key={`${first} ${second}`} /> : <Nowhere />;
    case "compare":
      return second ? <Compare left={first} right={second} key={`${first} ${second}`} /> : <Nowhere />;
    case "new":
      return <NewSession />;
    case "decisions":
      return first ? <DecisionView id={first} key={first} /> : <Decisions />;
    case "obligations":
      return <Obligations />;
    case "trust":
      return first ? <TrustView source={first} key={first} /> : <TrustList />;
    case "breakers":
      return <Breakers />;
    case "settings":
      return <SettingsView />;
    default:
      return <Nowhere />;
  }
}

/** Who was invited to one seat has one place to be; who was invited to several chooses. */
function Start() {
  const { session = "", seat = "", grants = [] } = me.value ?? {};
  if (session && grants.length > 1) return <MyMeetings />;
  return session && seat ? <SessionView id={session} mySeat={seat} key={session} /> : <Home />;
}

function MyMeetings() {
  return (
    <>
      <Header />
      <main class="page narrow" data-test="my-meetings">
        <h1>{say("your_meetings")}</h1>
        <ul>
          {me.value?.grants.map(({ session, seat }) => (
            <li key={session}>
              <a data-in href={seat ? buildPath("seat", session, seat) : buildPath("s", session)}>
                {readStored(`topic.${session}`) ?? session}
              </a>
              {seat && <span class="soft"> · {seat}</span>}
            </li>
          ))}
        </ul>
      </main>
    </>
  );
}

/** Each meeting has a grant of its own: who we are there is asked when it comes in front. */
function followGrants(): void {
  let viewed = findViewed();
  effect(() => {
    void route.value;
    if (findViewed() === viewed) return;
    viewed = findViewed();
    if (!needsLogin.peek()) void loadMe().catch(() => undefined);
  });
}

/** A path that is no view of the page: what to do instead. */
function Nowhere() {
  const here = location.pathname + location.search;
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("there_is_nothing_here")}</h1>
        <p>{say("the_address_path_leads_nowhere", { path: shortenText(here, 80) })}</p>
        <p class="row">
          <a data-in class="button" href="/">
            {say("all_sessions")}
          </a>
          {needsLogin.value && (
            <a data-in class="button main" href={`/login?to=${encodeURIComponent(here)}`}>
              {say("sign_in")}
            </a>
          )}
        </p>
      </main>
    </>
  );
}

function App() {
  return (
    <>
      <View />
      <Help />
    </>
  );
}

async function start(): Promise<void> {
  const host = document.getElementById("app");
  if (!host) return;
  if (exported === null) {
    followLinks();
    loginFailure.value = await takeTicket();
    const known = me.value === null ? loadMe().catch(() => undefined) : Promise.resolve();
    // A session asks for itself meanwhile, and its answer says what we may do.
    if (page.value !== "s") await known;
    followGrants();
  } else {
    // The static report and its style are for readers without script.
    document.querySelector("body > main")?.remove();
    document.querySelector("style:not([id])")?.remove();
    document.getElementById("app-style")?.setAttribute("media", "all");
  }
  document.documentElement.classList.add("app");
  host.replaceChildren();
  startTurns();
  render(<App />, host);
}

void start();
