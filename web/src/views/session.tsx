// A session: the timeline, one panel beside it, a scrubber below.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatExact, formatMoney, shortenText } from "../format";
import { useKeys } from "../keys";
import { followLanguage, say } from "../language";
import { Meeting } from "../meeting";
import { Action, Ago, Loading, Notice, Strength } from "../parts";
import { type Place, PlaceContext } from "../place";
import { buildPath, buildQueryUrl, exported, go, route, setQuery } from "../route";
import { call, newKey } from "../rpc";
import { readStored, writeStored } from "../storage";
import { connection } from "../stream";
import type { Phase, View, Waiting } from "../wire";
import { AnswerPanel } from "./answer";
import { InviteDialog } from "./invite";
import { NOTHING_SELECTED, Panel, PanelTabs } from "./panel";
import { SeatRow } from "./seats";
import { scrollToEntry, Timeline } from "./timeline";
import { Header } from "../shell";

const MOST_PHASES = 10;

export function SessionView({ id, mySeat = null }: { id: string; mySeat?: string | null }) {
  const meeting = useMemo(() => new Meeting(id), [id]);
  useEffect(() => () => meeting.close(), [meeting]);
  meeting.at.value = Number(route.value.query.get("at")) || null;
  const view = meeting.view.value;
  useEffect(() => followLanguage(meeting.live.value?.language), [meeting.live.value?.language]);
  if (view === null) {
    return (
      <>
        <Header />
        <main class="page">
          {meeting.error.value ? (
            <Notice tone="bad" action={<a data-in href="/">{say("All sessions", "全部会议")}</a>}>
              {meeting.error.value}
            </Notice>
          ) : (
            <Loading />
          )}
        </main>
      </>
    );
  }
  return <OpenSession meeting={meeting} view={view} mySeat={mySeat} key={id} />;
}

function OpenSession({ meeting, view, mySeat }: { meeting: Meeting; view: View; mySeat: string | null }) {
  const [query, setFind] = useState<string | null>(null);
  const [isInviting, setInviting] = useState(false);
  const [isUp, setUp] = useState(false);
  const [isReading, setReading] = useState(false);
  const seen = useRef<number | null>(mySeat === null ? null : Number(readStored(`seen.${view.sessionId}.${mySeat}`)) || 0);
  const params = route.value.query;
  const isSelected = params.has("entry") || params.has("seat") || params.has("lens");
  const seatKey = view.seats.map((seat) => `${seat.id} ${seat.hue} ${seat.platform}`).join("|");

  const select = useMemo(
    () => (entry: number) => {
      setQuery({ ...NOTHING_SELECTED, entry: String(entry) });
    },
    [],
  );
  const place = useMemo<Place>(() => {
    const seats = new Map(view.seats.map((seat) => [seat.id, seat]));
    return {
      hueOf: (seat) => seats.get(seat)?.hue ?? null,
      platformOf: (seat) => seats.get(seat)?.platform ?? "",
      linkTo: (entry) => buildQueryUrl({ ...NOTHING_SELECTED, entry: String(entry) }),
      followTo: (entry) => {
        select(entry);
        const show = (): void => scrollToEntry(entry);
        void meeting.shownItems.find(entry).then(show, show);
      },
      selectSeat: (seat) => setQuery({ ...NOTHING_SELECTED, seat }),
      loadWhole: exported === null ? (entry) => meeting.loadWhole(entry) : null,
    };
  }, [seatKey, meeting]);
  // On a phone the panel comes up when something is selected.
  useEffect(() => setUp(isSelected), [params.toString()]);
  useEffect(() => {
    // What was on the screen of a person's seat counts as seen when they leave.
    if (mySeat === null) return;
    const keep = (): void => writeStored(`seen.${view.sessionId}.${mySeat}`, String(meeting.live.peek()?.head ?? 0));
    addEventListener("pagehide", keep);
    return () => {
      removeEventListener("pagehide", keep);
      keep();
    };
  }, [mySeat]);
  useSessionKeys(meeting, setFind);
  const turn = view.waiting.some((each) => (mySeat === null ? each.mine : each.seat === mySeat && each.outside !== false));
  useEffect(() => {
    // Whoever is asked should not have to look for the form.
    if (mySeat !== null && turn) setUp(true);
    if (mySeat !== null) writeStored(`sat.${view.sessionId}`, mySeat);
  }, [mySeat, turn]);
  useEffect(() => {
    document.title = `${turn ? say("● Your turn · ", "● 轮到你 · ") : ""}${shortenText(view.topic, 80)} · Moot`;
  }, [turn, view.topic]);
  return (
    <PlaceContext.Provider value={place}>
      <Header>
        <button class={`topic plain ${isReading ? "whole" : ""}`} aria-expanded={isReading} title={view.topic} onClick={() => setReading(!isReading)}>
          {view.topic}
        </button>
        <span class="top-facts">
          {view.choice && (
            <span class="top-choice">
              <Strength strength={view.strength} />
              <span class="cut">{view.choice}</span>
            </span>
          )}
          <LiveState view={view} isPast={meeting.at.value !== null} />
          <a class="soft spent" href={buildQueryUrl({ ...NOTHING_SELECTED, lens: "about" })} onClick={(event) => {
            event.preventDefault();
            setQuery({ ...NOTHING_SELECTED, lens: "about" });
          }}>
            {view.budget.calls > 0 ? describeSpent(view) : say("About", "关于")}
          </a>
        </span>
      </Header>
      <main class={`session ${isUp ? "panel-up" : ""}`}>
        <h1 class="hidden">{view.topic}</h1>
        <div class="left">
          <div class="strip">
            {view.phases.length > 0 && (
              <ol class="phases" aria-label={say("Phases", "阶段")} tabIndex={0}>
                {selectPhases(view.phases).map(({ phase, index, isGap }) => (
                  <li key={index} class={phase.state} aria-current={phase.state === "now" ? "step" : undefined}>
                    {isGap && <span class="soft">… → </span>}
                    {phase.state === "done" && <span aria-hidden="true">✓ </span>}
                    {phase.name}
                  </li>
                ))}
              </ol>
            )}
            <SeatRow view={view} />
            {query !== null && <Find query={query} onChange={setFind} />}
          </div>
          <Notices view={view} meeting={meeting} mySeat={mySeat} />
          <Timeline meeting={meeting} view={view} query={query ?? ""} seenUpTo={seen.current} onSelect={select} />
        </div>
        <aside class="panel" aria-label={say("Panel", "面板")}>
          <button class="grip" aria-expanded={isUp} onClick={() => (isUp && isSelected ? setQuery(NOTHING_SELECTED) : setUp(!isUp))}>
            {isUp ? say("Back to the timeline", "回到时间线") : mySeat ? (turn ? say("It is your turn: answer", "轮到你了：回答") : say("Your seat", "你的席位")) : view.status === "concluded" ? say("Decision and more", "决定及更多") : say("Decision so far and more", "目前的决定及更多")}
          </button>
          <PanelTabs view={view} isSeat={mySeat !== null} />
          <div class="panel-body" tabIndex={0} role="region" aria-label={say("Details", "详情")}>
            {mySeat !== null && !isSelected ? <AnswerPanel meeting={meeting} seat={mySeat} /> : <Panel meeting={meeting} view={view} />}
          </div>
          {exported === null && mySeat === null && <Controls view={view} onInvite={() => setInviting(true)} />}
        </aside>
        <Scrubber meeting={meeting} view={view} onFind={() => setFind(query === null ? "" : null)} />
        <p class="hidden" role="status" aria-live="polite">
          {meeting.announced.value}
        </p>
      </main>
      {isInviting && <InviteDialog view={view} onClose={() => setInviting(false)} />}
    </PlaceContext.Provider>
  );
}

/** Of many phases the first, those round the one under way, and the last; `isGap`: some before it are left out. */
function selectPhases(phases: Phase[]): { phase: Phase; index: number; isGap: boolean }[] {
  const now = phases.findLastIndex((phase) => phase.state !== "ahead");
  const shown = [...phases.keys()].filter(
    (index) => phases.length <= MOST_PHASES || index === 0 || index === phases.length - 1 || Math.abs(index - now) <= 2,
  );
  return shown.map((index, place) => ({ phase: phases[index] as Phase, index, isGap: place > 0 && shown[place - 1] !== index - 1 }));
}

function describeSpent(view: View): string {
  const { calls, usd } = view.budget;
  const told = say(`${formatCount(calls)} ${calls === 1 ? "call" : "calls"}`, `${formatCount(calls)} 次调用`);
  return usd == null || calls === 0 ? told : `${told} · ${formatMoney(usd)}`;
}

function LiveState({ view, isPast }: { view: View; isPast: boolean }) {
  const [kind, word] = isPast
    ? ["past", say("as it was", "回看")]
    : exported !== null
      ? ["over", say("saved", "已保存")]
      : view.status === "concluded"
        ? ["over", say("concluded", "已结束")]
        : view.status === "cancelled"
          ? ["over", say("stopped", "已停止")]
          : connection.value === "broken"
            ? ["broken", say("offline", "离线")]
            : view.status === "parked"
              ? ["parked", say("parked", "已搁置")]
              : view.standing === "waiting"
                ? ["waiting", say("waiting", "等待中")]
                : ["live", say("live", "进行中")];
  return (
    <span class={`state-word ${kind}`}>
      <i aria-hidden="true" />
      {word}
    </span>
  );
}

/** What stands in the way now, in a sentence each, with what to do. */
function Notices({ view, meeting, mySeat }: { view: View; meeting: Meeting; mySeat: string | null }) {
  const isPast = meeting.at.value !== null;
  const isMine = (each: Waiting): boolean => each.mine || (each.outside === true && view.may.includes(`answer:${each.seat}`));
  const mine = view.waiting.filter(isMine);
  const others = view.waiting.filter((each) => !isMine(each));
  return (
    <div class="notices">
      {exported === null && connection.value === "broken" && (
        <Notice tone="warn">
          {say(
            "The connection to the server is lost; trying again by itself. What you see is the state before that. Nothing that was recorded is lost.",
            "与服务器的连接已断开，正在自动重连。当前显示的是断开前的状态，已记录的内容不会丢失。",
          )}
        </Notice>
      )}
      {!isPast && view.status === "parked" && (
        <Notice
          tone="warn"
          action={
            view.may.includes("resume") && (
              <Action do={() => call("moot.resumeSession", { sessionId: view.sessionId })}>{say("Try again now", "现在重试")}</Action>
            )
          }
        >
          {say("The session is parked: ", "会议已搁置：")}
          {view.parked || say("a participant cannot be reached", "有参与者无法联系")}.{" "}
          {say("It goes on when everybody can be asked again.", "待所有人都可再次询问时继续。")}
        </Notice>
      )}
      {!isPast && mySeat === null && mine.length > 0 && (
        <Notice
          tone="turn"
          action={mine.map((each) => (
            <a class={each.mine ? "button main" : "button"} data-in href={buildPath("seat", view.sessionId, each.seat)} key={each.ask}>
              {say(`Answer as ${each.seat}`, `以 ${each.seat} 的身份回答`)}
            </a>
          ))}
        >
          {mine.length === 1 ? (
            <>
              <b>{mine[0]?.seat}</b> {say("is asked: ", "待答：")}
              {mine[0]?.what}
            </>
          ) : (
            say(`${mine.length} seats from outside are asked.`, `${mine.length} 个外部席位待答。`)
          )}
        </Notice>
      )}
      {!isPast && view.status === "thinking" && view.standing === "waiting" && mine.length === 0 && others.length > 0 && (
        <Notice>
          {say("Waiting for ", "等待 ")}
          {others.map((each, index) => (
            <>
              {index > 0 && ", "}
              <b>{each.seat}</b>
            </>
          ))}
          {others[0]?.deadline && (
            <>
              {say(", until ", "，截止 ")}
              {formatExact(others[0].deadline)}
            </>
          )}
          . {say("Nothing is lost meanwhile: the session rests in the ledger.", "期间不会丢失任何内容：会议保存在账本中。")}
        </Notice>
      )}
      {view.sealed && !isPast && view.status === "thinking" && meeting.items.value.length > 0 && (
        <Notice>{say("What is written now is sealed until everybody has written.", "现在所写的内容在所有人写完之前保密。")}</Notice>
      )}
      {meeting.error.value && <Notice tone="bad">{meeting.error.value}</Notice>}
    </div>
  );
}

function Find({ query, onChange }: { query: string; onChange: (query: string | null) => void }) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  // The keyboard goes on where it searched.
  const close = (): void => {
    document.querySelector<HTMLElement>(".timeline")?.focus();
    onChange(null);
  };
  return (
    <div class="find">
      <input
        ref={input}
        type="search"
        value={query}
        aria-label={say("Find in this meeting", "在会议中查找")}
        placeholder={say("Find in this meeting", "在会议中查找")}
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && close()}
      />
      <button class="quiet" aria-label={say("End the search", "结束查找")} onClick={close}>
        ✕
      </button>
    </div>
  );
}

function Controls({ view, onInvite }: { view: View; onInvite: () => void }) {
  const name = `input.${view.sessionId}`;
  const [text, setText] = useState(readStored(name) ?? "");
  const [isSure, setSure] = useState<"" | "close" | "cancel">("");
  const key = useRef(newKey());
  const may = new Set(view.may);
  if (!["input", "close", "cancel", "invite"].some((each) => may.has(each))) return null;
  const write = (value: string): void => {
    setText(value);
    writeStored(name, value);
  };
  const send = async (): Promise<void> => {
    await call("moot.giveInput", { sessionId: view.sessionId, text: text.trim(), idempotencyKey: key.current });
    key.current = newKey();
    write("");
  };
  return (
    <div class="controls">
      {may.has("input") && (
        <>
          <textarea
            id="say"
            rows={text.includes("\n") || text.length > 60 ? 4 : 2}
            value={text}
            maxLength={20_000}
            aria-label={say("Say something to the meeting", "对会议说点什么")}
            placeholder={say("Say something to the meeting …", "对会议说点什么……")}
            onInput={(event) => write(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && text.trim()) void send();
            }}
          />
        </>
      )}
      {isSure ? (
        <div class="row">
          <span>
            {isSure === "close"
              ? say("End now, with a decision from what was said so far?", "现在结束，并根据已有发言作出决定？")
              : say("Stop for good, without a decision? The record stays.", "彻底停止且不作决定？记录会保留。")}
          </span>
          <Action
            class={isSure === "cancel" ? "danger" : "main"}
            do={async () => {
              await call(isSure === "close" ? "moot.closeSession" : "moot.cancelSession", { sessionId: view.sessionId });
              setSure("");
            }}
          >
            {isSure === "close" ? say("Yes, conclude", "是，得出结论") : say("Yes, stop", "是，停止")}
          </Action>
          <button class="quiet" onClick={() => setSure("")}>
            {say("No", "否")}
          </button>
        </div>
      ) : (
        <div class="row">
          {may.has("input") && (
            <Action class="main" disabled={!text.trim()} do={send}>
              {say("Send", "发送")}
            </Action>
          )}
          <span class="grow" />
          {may.has("invite") && (
            <button class="quiet" onClick={onInvite}>
              {say("Invite …", "邀请……")}
            </button>
          )}
          {may.has("close") && (
            <button class="quiet" onClick={() => setSure("close")}>
              {say("Conclude now", "立即结束")}
            </button>
          )}
          {may.has("cancel") && (
            <button class="quiet" onClick={() => setSure("cancel")}>
              {say("Stop", "停止")}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Scrubber({ meeting, view, onFind }: { meeting: Meeting; view: View; onFind: () => void }) {
  const head = meeting.live.value?.head ?? view.head;
  const at = meeting.at.value ?? head;
  const isPast = meeting.at.value !== null;
  const shownAt = meeting.items.value.findLast((item) => item.at && item.seq <= at)?.at;
  return (
    <footer class="scrubber">
      <button class="quiet" aria-label={say("One entry back", "后退一条")} disabled={at <= 1} onClick={() => moveTo(meeting, at - 1)}>
        ◀
      </button>
      <input
        type="range"
        min={1}
        max={Math.max(1, head)}
        value={at}
        aria-label={say("The meeting as it was after entry", "查看某条之后的会议")}
        aria-valuetext={say(`entry ${at} of ${head}`, `第 ${at} 条，共 ${head} 条`)}
        onInput={(event) => moveTo(meeting, Number(event.currentTarget.value))}
        style={{ "--at": `${head <= 1 ? 100 : ((at - 1) / (head - 1)) * 100}%` }}
      />
      <button class="quiet" aria-label={say("One entry on", "前进一条")} disabled={!isPast} onClick={() => moveTo(meeting, at + 1)}>
        ▶
      </button>
      <span class="place">
        {isPast ? say(`entry ${at} of ${head}`, `第 ${at} / ${head} 条`) : say(`${head} entries`, `共 ${head} 条`)}
        {isPast && shownAt && (
          <span class="soft">
            {" · "}
            <Ago at={shownAt} />
          </span>
        )}
        {meeting.isCatchingUp.value && <span class="soft"> …</span>}
      </span>
      {isPast && (
        <>
          {view.may.includes("fork") && <ForkButton view={view} at={at} />}
          <button class="quiet" onClick={() => setQuery({ at: null }, { replace: true })}>
            {meeting.live.value?.status === "thinking" ? say("Back to now", "回到现在") : say("Back to the end", "回到结尾")}
          </button>
        </>
      )}
      <button class="quiet find-button" onClick={onFind}>
        {say("Find", "查找")}
      </button>
    </footer>
  );
}

function ForkButton({ view, at }: { view: View; at: number }) {
  return (
    <Action
      class="quiet"
      do={async () => {
        const made = await call<{ sessionId: string }>("moot.forkSession", { sessionId: view.sessionId, at });
        go(buildPath("s", made.sessionId));
      }}
    >
      {say("Fork from here", "从此处分叉")}
    </Action>
  );
}

/** Show the meeting as it was after an entry; of an export the nearest entry in that direction that it knows. */
function moveTo(meeting: Meeting, wanted: number): void {
  const head = meeting.live.peek()?.head ?? 1;
  const before = meeting.at.peek() ?? head;
  const known = meeting.knownEntries;
  const at = known === null ? wanted : ((wanted < before ? known.findLast((each) => each <= wanted) : known.find((each) => each >= wanted)) ?? head);
  setQuery({ at: at >= head ? null : String(Math.max(1, at)) }, { replace: true });
}

function useSessionKeys(meeting: Meeting, find: (query: string | null) => void): void {
  useKeys((key) => {
    const entries = meeting.items.peek().flatMap((item) => (item.entry ? [item.entry] : []));
    const selected = Number(route.peek().query.get("entry")) || null;
    const at = meeting.at.peek() ?? meeting.live.peek()?.head ?? 1;
    const step = (by: number): void => {
      const index = selected === null ? (by > 0 ? -1 : entries.length) : entries.indexOf(selected);
      const next = entries[Math.max(0, Math.min(entries.length - 1, index + by))];
      if (next === undefined) return;
      setQuery({ ...NOTHING_SELECTED, entry: String(next) }, { replace: true });
      scrollToEntry(next, { focus: true });
    };
    switch (key) {
      case "j":
        step(1);
        return "done";
      case "k":
        step(-1);
        return "done";
      case "ArrowLeft":
        moveTo(meeting, at - 1);
        return "done";
      case "ArrowRight":
        moveTo(meeting, at + 1);
        return "done";
      case "/":
        // A search that is open already only gets the focus.
        document.querySelector<HTMLInputElement>(".find input")?.focus();
        find("");
        return "text";
      case "i": {
        const input = document.getElementById("answer") ?? document.getElementById("say");
        input?.focus();
        return input ? "text" : "done";
      }
      case "Escape":
        if (route.peek().query.size > 0) setQuery(NOTHING_SELECTED);
        return "done";
      default:
        return "ignored";
    }
  });
}
