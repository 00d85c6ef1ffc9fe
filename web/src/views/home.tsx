// Home: what runs, what waits (for me first), what is parked, what was decided.
import { computed, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys";
import { language, say } from "../language";
import { Ago, Loading, Notice, Strength, Action, useLoad } from "../parts";
import { buildPath, go, route, setQuery } from "../route";
import { call, describeError, mayDo, me } from "../rpc";
import { Header } from "../shell";
import { readStored } from "../storage";
import { connection, listen, watch } from "../stream";
import type { SessionLine } from "../wire";

const lines = signal<ReadonlyMap<string, SessionLine> | null>(null);
const failure = signal("");

async function loadLines(): Promise<void> {
  try {
    const found = await call("moot.listSessions", { limit: 500 });
    lines.value = new Map(found.sessions.map((each) => [each.sessionId, each]));
    failure.value = "";
    void loadAwaited();
  } catch (error) {
    failure.value = describeError(error);
  }
}

/** Whom sessions wait for, asked once for each state of each. */
const awaited = signal<ReadonlyMap<string, { entries: number; seats: string[] }>>(new Map());
const MAX_ASKED = 12;

async function loadAwaited(): Promise<void> {
  if (!mayDo("speak")) return;
  const open = [...(lines.peek()?.values() ?? [])].filter((line) => line.standing === "waiting").slice(0, MAX_ASKED);
  const look = async (line: SessionLine): Promise<void> => {
    if (awaited.peek().get(line.sessionId)?.entries === line.entries) return;
    try {
      const found = await call("moot.getAsks", { sessionId: line.sessionId });
      awaited.value = new Map(awaited.peek()).set(line.sessionId, { entries: line.entries, seats: found.asks.map((each) => each.seat) });
    } catch {
      // The line is shown without names then.
    }
  };
  await Promise.all(open.map(look));
}

/** The seat at which I am awaited: that of my token, or one at which this browser has sat. */
function findMySeat(line: SessionLine): string | null {
  if (line.standing !== "waiting") return null;
  const own = me.value?.seat || readStored(`sat.${line.sessionId}`);
  return own && awaited.value.get(line.sessionId)?.seats.includes(own) ? own : null;
}

type GroupName = "mine" | "running" | "waiting" | "parked" | "decided" | "ended" | "other";

function findGroup(line: SessionLine): GroupName {
  if (findMySeat(line) !== null) return "mine";
  switch (line.standing) {
    case "running":
      return "running";
    case "waiting":
      return "waiting";
    case "parked":
    case "stopped":
      return "parked";
    case "decided":
      return "decided";
    case "undecided":
    case "cancelled":
      return "ended";
    default:
      return "other";
  }
}

const groups = computed(() => {
  const found = new Map<GroupName, SessionLine[]>();
  for (const line of [...(lines.value?.values() ?? [])].sort((a, b) => b.lastAt.localeCompare(a.lastAt))) {
    const name = findGroup(line);
    found.set(name, [...(found.get(name) ?? []), line]);
  }
  return found;
});

export function Home() {
  const query = route.value.query.get("q") ?? "";
  useEffect(() => {
    const stop = listen({
      load: () => void loadLines(),
      line: (line) => {
        if (!lines.value) return;
        lines.value = new Map(lines.value).set(line.sessionId, line);
        if (line.standing === "waiting") void loadAwaited();
      },
    });
    watch([]);
    return stop;
  }, []);
  const all = lines.value;
  const isEmpty = all !== null && all.size === 0;
  const mayRun = mayDo("run");
  return (
    <>
      <Header />
      <main class="page">
        <h1 class="hidden">Moot</h1>
        {connection.value === "broken" && (
          <Notice tone="warn">
            {say("the_server_does_not_answer_trying")}
          </Notice>
        )}
        {failure.value && connection.value !== "broken" && <Notice tone="bad">{failure.value}</Notice>}
        {all === null ? (
          failure.value ? null : <Loading />
        ) : isEmpty ? (
          <FirstVisit />
        ) : (
          <>
            <div class="bar-top">
              <Search query={query} />
              {mayRun && (
                <a class="button main" data-in href="/new">
                  {say("ask_something")}
                </a>
              )}
            </div>
            {query ? <Found query={query} /> : <AllGroups />}
            {!query && mayRun && <Demos isSmall={all.size > 3} />}
          </>
        )}
      </main>
    </>
  );
}

function Search({ query }: { query: string }) {
  const input = useRef<HTMLInputElement>(null);
  useKeys((key) => {
    if (key !== "/") return "ignored";
    input.current?.focus();
    return "text";
  });
  return (
    <input
      ref={input}
      type="search"
      class="search"
      defaultValue={query}
      aria-label={say("search_sessions")}
      placeholder={say("search_questions_and_decisions")}
      onInput={(event) => setQuery({ q: event.currentTarget.value || null }, { replace: true })}
    />
  );
}

function AllGroups() {
  const found = groups.value;
  const titles: [GroupName, string, string][] = [
    ["mine", say("waiting_for_you"), ""],
    ["running", say("running"), ""],
    ["waiting", say("waiting_for_somebody"), ""],
    ["parked", say("parked"), say("they_go_on_when_everybody_can")],
    ["decided", say("decided"), ""],
    ["ended", say("ended_without_a_decision"), ""],
    ["other", say("cannot_be_read"), say("damaged_or_their_protocol_is_not")],
  ];
  return (
    <>
      {titles.map(([name, title, note]) => {
        const sessions = found.get(name);
        return sessions ? <Group key={name} name={name} title={title} note={note} sessions={sessions} /> : null;
      })}
    </>
  );
}

const FIRST = 12;

function Group({ name, title, note, sessions }: { name: string; title: string; note: string; sessions: SessionLine[] }) {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? sessions : sessions.slice(0, FIRST);
  return (
    <section class={`group-of ${name}`} aria-label={title}>
      <h2>
        {title} <span class="soft count">{sessions.length}</span>
      </h2>
      {note && <p class="soft">{note}</p>}
      <ul class="lines">
        {shown.map((line) => (
          <li key={line.sessionId}>
            <LineView line={line} />
          </li>
        ))}
      </ul>
      {shown.length < sessions.length && (
        <button class="quiet" onClick={() => setAll(true)}>
          {say("show_all_sessions", { sessions: sessions.length })}
        </button>
      )}
    </section>
  );
}

function findAddress(line: SessionLine): string {
  const seat = findMySeat(line);
  return seat === null ? buildPath("s", line.sessionId) : buildPath("seat", line.sessionId, seat);
}

function LineView({ line }: { line: SessionLine }) {
  const waits = awaited.value.get(line.sessionId)?.seats ?? [];
  return (
    <a class={`session-line is-${line.standing}`} data-in href={findAddress(line)} data-test="session-line">
      <span class="line-topic">{line.topic || line.sessionId}</span>
      <span class="line-facts">
        {line.choice ? (
          <span class="line-choice">
            <Strength strength={line.strength} /> <span class="cut">{line.choice}</span>
          </span>
        ) : line.standing === "parked" && line.parked ? (
          <span class="cut">{line.parked}</span>
        ) : line.standing === "waiting" && waits.length > 0 ? (
          <span class="cut">
            {say("waits_for")}
            {waits.join(", ")}
          </span>
        ) : line.standing === "running" ? (
          <span class="state-word live">
            <i aria-hidden="true" />
            {say("live")}
          </span>
        ) : null}
        <span class="soft">
          {line.isDemo && `${say("demo")} · `}
          {line.protocol} · {say("entries_entries", { entries: line.entries })} · <Ago at={line.lastAt} />
        </span>
      </span>
    </a>
  );
}

function Found({ query }: { query: string }) {
  const [asked, setAsked] = useState(query);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(query), 200);
    return () => clearTimeout(timer);
  }, [query]);
  const { value, error } = useLoad(() => call("moot.listSessions", { query: asked, limit: 50 }), asked);
  if (error) return <Notice tone="bad">{error}</Notice>;
  if (value === null) return <Loading />;
  return (
    <section aria-label={say("found")}>
      <h2>{say("sessions_found", { sessions: value.sessions.length })}</h2>
      {value.sessions.length === 0 && (
        <p class="soft">
          {say("no_session_is_about_that_other")}
          <a data-in href={`/new?topic=${encodeURIComponent(query)}`}>
            {say("ask_it_now")}
          </a>
          .
        </p>
      )}
      <ul class="lines">
        {value.sessions.map((line) => (
          <li key={line.sessionId}>
            <LineView line={line} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function FirstVisit() {
  const { value } = useLoad(() => call("moot.getOpening", { language: language.value }), `opening ${language.value}`);
  const [topic, setTopic] = useState("");
  const found = value?.participants.filter((each) => each.found && each.platform !== "mailbox") ?? [];
  return (
    <div class="first-visit">
      <h2 class="lead">{say("put_a_question_before_a_group")}</h2>
      <p class="soft">
        {say("they_argue_object_change_their_minds")}
      </p>
      <form
        class="ask-box"
        onSubmit={(event) => {
          event.preventDefault();
          go(`/new?topic=${encodeURIComponent(topic)}`);
        }}
      >
        <textarea
          rows={2}
          value={topic}
          aria-label={say("your_question")}
          placeholder={say("should_a_small_team_rewrite_its")}
          onInput={(event) => setTopic(event.currentTarget.value)}
        />
        <button class="main">{say("ask_something")}</button>
      </form>
      {value && (
        <p class="soft">
          {found.length > 0
            ? `${say("found_here_to_answer")}${found.map((each) => each.title || each.platform).join(", ")}`
            : say("no_model_was_found_here_yet")}
        </p>
      )}
      <Demos isSmall={false} />
    </div>
  );
}

function Demos({ isSmall }: { isSmall: boolean }) {
  const { value } = useLoad(() => call("moot.listDemos", { language: language.value }), `demos ${language.value}`);
  const demos = value?.demos ?? [];
  if (demos.length === 0) return null;
  const list = (
    <ul class="demos">
      {demos.map((demo) => (
        <li key={`${demo.name} ${demo.language}`} lang={demo.language}>
          <b>{demo.title}</b>
          <span class="soft">{demo.summary}</span>
          <Action
            class="quiet"
            name={say("play_title", { title: demo.title })}
            do={async () => {
              const made = await call("moot.playDemo", { name: demo.name, language: demo.language });
              go(buildPath("s", made.sessionId));
            }}
          >
            ▸ {say("play")}
          </Action>
        </li>
      ))}
    </ul>
  );
  return (
    <section aria-label={say("demos")}>
      {isSmall ? (
        <details class="fold">
          <summary>{say("demos_meetings_to_watch_without_any")}</summary>
          {list}
        </details>
      ) : (
        <>
          <h2>{say("watch_a_meeting_first")}</h2>
          {list}
        </>
      )}
    </section>
  );
}
