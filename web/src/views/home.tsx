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
import type { Demo, Opening, SessionLine } from "../wire";

const lines = signal<ReadonlyMap<string, SessionLine> | null>(null);
const failure = signal("");

async function loadLines(): Promise<void> {
  try {
    const found = await call<{ sessions: SessionLine[] }>("moot.listSessions", { limit: 500 });
    lines.value = new Map(found.sessions.map((each) => [each.sessionId, each]));
    failure.value = "";
    void loadAwaited();
  } catch (error) {
    failure.value = describeError(error);
  }
}

/** Whom sessions wait for, asked once for each state of each. */
const awaited = signal<ReadonlyMap<string, { entries: number; seats: string[] }>>(new Map());
const MOST_ASKED = 12;

async function loadAwaited(): Promise<void> {
  if (!mayDo("speak")) return;
  const open = [...(lines.peek()?.values() ?? [])].filter((line) => line.standing === "waiting").slice(0, MOST_ASKED);
  const look = async (line: SessionLine): Promise<void> => {
    if (awaited.peek().get(line.sessionId)?.entries === line.entries) return;
    try {
      const found = await call<{ asks: { seat: string }[] }>("moot.getAsks", { sessionId: line.sessionId });
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
            {say("The server does not answer; trying again by itself. Is `moot serve` running?", "服务器没有应答，正在自动重试。`moot serve` 在运行吗？")}
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
                  {say("Ask something", "提个问题")}
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
      aria-label={say("Search sessions", "搜索会议")}
      placeholder={say("Search questions and decisions", "搜索问题和决定")}
      onInput={(event) => setQuery({ q: event.currentTarget.value || null }, { replace: true })}
    />
  );
}

function AllGroups() {
  const found = groups.value;
  const titles: [GroupName, string, string][] = [
    ["mine", say("Waiting for you", "等你回答"), ""],
    ["running", say("Running", "进行中"), ""],
    ["waiting", say("Waiting for somebody", "等待他人"), ""],
    ["parked", say("Parked", "已搁置"), say("They go on when everybody can be asked again, or when you resume them.", "待所有人可再次询问时继续，或由你恢复。")],
    ["decided", say("Decided", "已决定"), ""],
    ["ended", say("Ended without a decision", "未作决定即结束"), ""],
    ["other", say("Cannot be read", "无法读取"), say("Damaged, or their protocol is not installed here.", "已损坏，或此处未安装其规程。")],
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
          {say(`Show all ${sessions.length}`, `显示全部 ${sessions.length} 个`)}
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
            {say("waits for ", "等待 ")}
            {waits.join(", ")}
          </span>
        ) : line.standing === "running" ? (
          <span class="state-word live">
            <i aria-hidden="true" />
            {say("live", "进行中")}
          </span>
        ) : null}
        <span class="soft">
          {line.isDemo && `${say("demo", "演示")} · `}
          {line.protocol} · {say(`${line.entries} entries`, `${line.entries} 条`)} · <Ago at={line.lastAt} />
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
  const { value, error } = useLoad(() => call<{ sessions: SessionLine[] }>("moot.listSessions", { query: asked, limit: 50 }), asked);
  if (error) return <Notice tone="bad">{error}</Notice>;
  if (value === null) return <Loading />;
  return (
    <section aria-label={say("Found", "搜索结果")}>
      <h2>{say(`${value.sessions.length} found`, `找到 ${value.sessions.length} 个`)}</h2>
      {value.sessions.length === 0 && (
        <p class="soft">
          {say("No session is about that. Other words, or ", "没有相关的会议。换个说法，或")}
          <a data-in href={`/new?topic=${encodeURIComponent(query)}`}>
            {say("ask it now", "现在就提问")}
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
  const { value } = useLoad(() => call<Opening>("moot.getOpening", { language: language.value }), `opening ${language.value}`);
  const [topic, setTopic] = useState("");
  const found = value?.participants.filter((each) => each.found && each.platform !== "mailbox") ?? [];
  return (
    <div class="first-visit">
      <h2 class="lead">{say("Put a question before a group of minds.", "把问题交给一群头脑。")}</h2>
      <p class="soft">
        {say(
          "They argue, object, change their minds and vote. You get a decision with its dissent, and a record that shows how it came about.",
          "他们争论、反对、改变看法并投票。你得到一项附有异议的决定，以及说明其由来的记录。",
        )}
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
          aria-label={say("Your question", "你的问题")}
          placeholder={say("Should a small team rewrite its working product?", "小团队应该重写一个能用的产品吗？")}
          onInput={(event) => setTopic(event.currentTarget.value)}
        />
        <button class="main">{say("Ask something", "提个问题")}</button>
      </form>
      {value && (
        <p class="soft">
          {found.length > 0
            ? `${say("Found here to answer: ", "此处可参与回答：")}${found.map((each) => each.title || each.platform).join(", ")}`
            : say("No model was found here yet. The demos need none.", "此处尚未找到模型。演示无需模型。")}
        </p>
      )}
      <Demos isSmall={false} />
    </div>
  );
}

function Demos({ isSmall }: { isSmall: boolean }) {
  const { value } = useLoad(() => call<{ demos: Demo[] }>("moot.listDemos", { language: language.value }), `demos ${language.value}`);
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
            name={say(`Play: ${demo.title}`, `播放：${demo.title}`)}
            do={async () => {
              const made = await call<{ sessionId: string }>("moot.playDemo", { name: demo.name, language: demo.language });
              go(buildPath("s", made.sessionId));
            }}
          >
            ▸ {say("Play", "播放")}
          </Action>
        </li>
      ))}
    </ul>
  );
  return (
    <section aria-label={say("Demos", "演示")}>
      {isSmall ? (
        <details class="fold">
          <summary>{say("Demos: meetings to watch, without any model", "演示：无需模型即可观看的会议")}</summary>
          {list}
        </details>
      ) : (
        <>
          <h2>{say("Watch a meeting first", "先看一场会议")}</h2>
          {list}
        </>
      )}
    </section>
  );
}
