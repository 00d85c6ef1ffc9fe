// Home: what runs, what waits (for me first), what is parked, what was decided.
import { computed, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { nameTerm } from "../format";
import { useKeys } from "../keys";
import { language, say } from "../language";
import { Ago, Loading, Marked, Notice, ResultBadge, Action, useLoad } from "../parts";
import { buildPath, go, route, setQuery } from "../route";
import { call, describeError, mayDo, mayOpen } from "../rpc";
import { Header } from "../shell";
import { readStored, writeStored } from "../storage";
import { connection, listen, refusedBecause, watch } from "../stream";
import { myTurns } from "../turns";
import type { SessionLine } from "../wire";

const lines = signal<ReadonlyMap<string, SessionLine> | null>(null);
const failure = signal("");

const PAGE = 500;
/** How many sessions there are on the server; more than one page is loaded when asked for. */
const total = signal(0);

async function loadLines(after = 0): Promise<void> {
  try {
    const found = await call("moot.listSessions", { limit: PAGE, after });
    lines.value = new Map([...(after > 0 ? (lines.peek() ?? []) : []), ...found.sessions.map((each) => [each.sessionId, each] as const)]);
    total.value = found.total;
    failure.value = "";
    void loadAwaited();
    void moveAway();
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

function findMySeat(line: SessionLine): string | null {
  return myTurns.value.find((each) => each.sessionId === line.sessionId)?.seat ?? null;
}

/** What is selected, to be compared, tagged or put away; null while nothing can be. */
const selected = signal<ReadonlySet<string> | null>(null);

/** Tag sessions or put them away, for everybody who uses this server. */
async function labelSessions(sessions: string[], label: { tags?: string[]; isAway?: boolean }): Promise<void> {
  for (const sessionId of sessions) {
    const line = await call("moot.labelSession", { sessionId, ...label });
    lines.value = new Map(lines.peek() ?? []).set(sessionId, line);
  }
  selected.value = null;
}

/** What an older page put away in this browser alone goes to the server, once. */
const AWAY = "away";

async function moveAway(): Promise<void> {
  const stored = readStored(AWAY);
  if (stored === null || !mayDo("run")) return;
  writeStored(AWAY, null);
  const known = (JSON.parse(stored) as string[]).filter((each) => lines.peek()?.has(each));
  await labelSessions(known, { isAway: true }).catch(() => writeStored(AWAY, stored));
}

type GroupName = "mine" | "running" | "waiting" | "parked" | "decided" | "ended" | "other" | "away";

function findGroup(line: SessionLine): GroupName {
  if (findMySeat(line) !== null) return "mine";
  if (line.isAway) return "away";
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

/** Whether a line is of the protocol, the state and the tag that the address names. */
function isWanted(line: SessionLine): boolean {
  const query = route.value.query;
  const tag = query.get("tag");
  const isTagged = tag === null || line.tags.includes(tag);
  return isTagged && [line.protocol, null].includes(query.get("protocol")) && [findGroup(line) as string, null].includes(query.get("state"));
}

const groups = computed(() => {
  const found = new Map<GroupName, SessionLine[]>();
  for (const line of [...(lines.value?.values() ?? [])].filter(isWanted).sort((a, b) => b.lastAt.localeCompare(a.lastAt))) {
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
  const mayRun = mayOpen();
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
        {connection.value === "refused" && <Notice tone="bad">{refusedBecause.value}</Notice>}
        {failure.value && connection.value !== "broken" && <Notice tone="bad">{failure.value}</Notice>}
        {all === null ? (
          failure.value ? null : <Loading />
        ) : isEmpty ? (
          mayRun ? <FirstVisit /> : <p class="soft">{say("no_session_is_like_that")}</p>
        ) : (
          <>
            <div class="bar-top">
              <Search query={query} />
              <Filters />
              {mayRun && (
                <a class="button main" data-in href="/new">
                  {say("ask_something")}
                </a>
              )}
            </div>
            {selected.value !== null && <Selection chosen={[...selected.value]} />}
            {query ? <Found query={query} /> : <AllGroups />}
            {!query && all.size < total.value && (
              <p class="row">
                <Action class="quiet" do={() => loadLines(all.size)}>
                  {say("load_older_sessions", { count: total.value - all.size })}
                </Action>
              </p>
            )}
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
      value={query}
      aria-label={say("search_sessions")}
      placeholder={say("search_questions_and_decisions")}
      onInput={(event) => setQuery({ q: event.currentTarget.value || null }, { replace: true })}
    />
  );
}

function Filters() {
  const query = route.value.query;
  const protocols = [...new Set([...(lines.value?.values() ?? [])].map((line) => line.protocol))].filter(Boolean).sort();
  const tags = [...new Set([...(lines.value?.values() ?? [])].flatMap((line) => line.tags))].sort();
  const states = listTitles().map(([name, title]) => [name, title] as const);
  return (
    <>
      <select aria-label={say("protocol")} value={query.get("protocol") ?? ""} onChange={(event) => setQuery({ protocol: event.currentTarget.value || null }, { replace: true })}>
        <option value="">{say("every_protocol")}</option>
        {protocols.map((each) => (
          <option key={each} value={each}>
            {nameTerm("protocols", each)}
          </option>
        ))}
      </select>
      <select aria-label={say("state")} value={query.get("state") ?? ""} onChange={(event) => setQuery({ state: event.currentTarget.value || null }, { replace: true })}>
        <option value="">{say("every_state")}</option>
        {states.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
      {tags.length > 0 && (
        <select aria-label={say("tags")} value={query.get("tag") ?? ""} onChange={(event) => setQuery({ tag: event.currentTarget.value || null }, { replace: true })}>
          <option value="">{say("every_tag")}</option>
          {tags.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      )}
      <button class="quiet" aria-pressed={selected.value !== null} onClick={() => (selected.value = selected.value === null ? new Set() : null)}>
        {say("select")}
      </button>
    </>
  );
}

/** What can be done with the sessions that are selected. */
function Selection({ chosen }: { chosen: string[] }) {
  const [first, second] = chosen;
  const [tags, setTags] = useState<string | null>(null);
  const isAway = chosen.length > 0 && chosen.every((each) => lines.value?.get(each)?.isAway);
  // Those that all of them have, until something else is written.
  const shared = (lines.value?.get(first ?? "")?.tags ?? []).filter((tag) => chosen.every((each) => lines.value?.get(each)?.tags.includes(tag)));
  const written = tags ?? shared.join(", ");
  return (
    <div class="row selection" role="toolbar" aria-label={say("selected_sessions", { count: chosen.length })}>
      <span class="soft">{say("selected_sessions", { count: chosen.length })}</span>
      <button disabled={chosen.length !== 2} title={say("select_two_to_compare")} onClick={() => go(buildPath("compare", first ?? "", second ?? ""))}>
        {say("compare")}
      </button>
      {mayDo("run") && (
        <>
          <Action disabled={chosen.length === 0} do={() => labelSessions(chosen, { isAway: !isAway })}>
            {isAway ? say("bring_back") : say("put_away")}
          </Action>
          <input type="text" maxLength={500} disabled={chosen.length === 0} value={written} placeholder={say("tags")} aria-label={say("tags_of_the_selected")} onInput={(event) => setTags(event.currentTarget.value)} />
          <Action disabled={chosen.length === 0 || tags === null} do={() => labelSessions(chosen, { tags: written.split(/[,，]/).map((each) => each.trim()).filter(Boolean) })}>
            {say("set_tags")}
          </Action>
        </>
      )}
    </div>
  );
}

function listTitles(): [GroupName, string, string][] {
  return [
    ["mine", say("waiting_for_you"), ""],
    ["running", say("running"), ""],
    ["waiting", say("waiting_for_somebody"), ""],
    ["parked", say("parked"), say("they_go_on_when_everybody_can")],
    ["decided", say("decided"), ""],
    ["ended", say("ended_without_a_decision"), ""],
    ["other", say("cannot_be_read"), say("damaged_or_their_protocol_is_not")],
    ["away", say("put_away_2"), say("put_away_note")],
  ];
}

function AllGroups() {
  const found = groups.value;
  // What was put away is shown to those who ask for it.
  const titles = listTitles().filter(([name]) => name !== "away" || route.value.query.get("state") === name || found.size === 1);
  return (
    <>
      {found.size === 0 && <p class="soft">{say("no_session_is_like_that")}</p>}
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
          <LineRow key={line.sessionId} line={line} />
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

function LineRow({ line }: { line: SessionLine }) {
  const chosen = selected.value;
  const toggle = (isOn: boolean): void => {
    const next = new Set(chosen ?? []);
    isOn ? next.add(line.sessionId) : next.delete(line.sessionId);
    selected.value = next;
  };
  return (
    <li class={chosen ? "selectable" : undefined}>
      {chosen && <input type="checkbox" aria-label={line.topic || line.sessionId} checked={chosen.has(line.sessionId)} onChange={(event) => toggle(event.currentTarget.checked)} />}
      <LineView line={line} />
    </li>
  );
}

function findAddress(line: SessionLine): string {
  if (line.saidEntry != null) return `${buildPath("s", line.sessionId)}?entry=${line.saidEntry}`;
  const seat = findMySeat(line);
  return seat === null ? buildPath("s", line.sessionId) : buildPath("seat", line.sessionId, seat);
}

function LineView({ line }: { line: SessionLine }) {
  const waits = awaited.value.get(line.sessionId)?.seats ?? [];
  return (
    <a class={`session-line is-${line.standing}`} data-in href={findAddress(line)} data-test="session-line">
      <span class="line-topic">{line.topic || line.sessionId}</span>
      {line.said && (
        <span class="line-said cut" dir="auto">
          <Marked text={line.said} marks={line.saidMarks} />
        </span>
      )}
      <span class="line-facts">
        {line.standing === "decided" ? (
          <span class="line-choice">
            <ResultBadge line={line} /> <span class="cut" dir="auto">{line.what}</span>
          </span>
        ) : line.standing === "waiting" && waits.length > 0 ? (
          <span class="cut">
            {say("waits_for")}
            {waits.join(", ")}
          </span>
        ) : line.what ? (
          <span class="cut" dir="auto">{line.what}</span>
        ) : line.standing === "running" ? (
          <span class="state-word live">
            <i aria-hidden="true" />
            {say("live")}
          </span>
        ) : null}
        <span class="soft">
          {line.tags.map((each) => (
            <span class="badge" key={each} dir="auto">
              {each}
            </span>
          ))}{" "}
          {[nameStandIn(line), line.forkedFrom && say("fork"), line.isImported && say("imported"), nameTerm("protocols", line.protocol)].filter(Boolean).join(" · ")} · {say("entries_entries", { entries: line.entries })} · <Ago at={line.lastAt} />
        </span>
      </span>
    </a>
  );
}

function Found({ query }: { query: string }) {
  const [asked, setAsked] = useState(query);
  const protocol = route.value.query.get("protocol") ?? "";
  useEffect(() => {
    const timer = setTimeout(() => setAsked(query), 200);
    return () => clearTimeout(timer);
  }, [query]);
  const tag = route.value.query.get("tag") ?? "";
  const { value, error } = useLoad(() => call("moot.listSessions", { query: asked, limit: 100, protocol, tag }), `${asked} ${protocol} ${tag}`);
  if (error) return <Notice tone="bad">{error}</Notice>;
  if (value === null) return <Loading />;
  const shown = value.sessions.filter(isWanted);
  return (
    <section aria-label={say("found")}>
      <h2>{say("sessions_found", { sessions: shown.length < value.sessions.length ? shown.length : value.total })}</h2>
      {shown.length === 0 && !mayOpen() && <p class="soft">{say("no_session_is_like_that")}</p>}
      {shown.length === 0 && mayOpen() && (
        <p class="soft">
          {say("no_session_is_about_that_other")}
          <a data-in href={`/new?topic=${encodeURIComponent(query)}`}>
            {say("ask_it_now")}
          </a>
          .
        </p>
      )}
      <ul class="lines">
        {shown.map((line) => (
          <LineRow key={line.sessionId} line={line} />
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
          onKeyDown={(event) => {
            // Enter asks, as in a chat; with Shift it is a line break.
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
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

/** What spoke in place of minds, so that nothing in the line is taken for a decision. */
function nameStandIn(line: SessionLine): string {
  switch (line.standIn) {
    case "demo":
      return say("demo");
    case "embedded":
      return say("embedded_model_alone");
    case "script":
      return say("answer_file_alone");
    default:
      return "";
  }
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
