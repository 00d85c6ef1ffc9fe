// A session: the timeline, one panel beside it, a scrubber below.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatExact, formatMoney, shortenText, countThings } from "../format";
import { isInput, submitByKey, useKeys } from "../keys";
import { followLanguage, say } from "../language";
import { Meeting } from "../meeting";
import { Action, Ago, Loading, Notice } from "../parts";
import { type Place, PlaceContext } from "../place";
import { buildPath, buildQueryUrl, exported, go, NOTHING_SELECTED, readNumber, route, setQuery } from "../route";
import { call, FormKeys } from "../rpc";
import { readStored, writeStored } from "../storage";
import { connection, refusedBecause } from "../stream";
import type { Phase, View, Waiting } from "../wire";
import { rememberSeat, setTitle } from "../turns";
import { AnswerPanel } from "./answer";
import { GivenFiles } from "./files";
import { InviteDialog } from "./invite";
import { Panel, PanelTabs } from "./panel";
import { isPrinting, PrintView } from "./print";
import { SeatRow } from "./seats";
import { scrollToEntry, Timeline } from "./timeline";
import { Header } from "../shell";

const MAX_PHASES = 10;
/** More seats than these that wait for an answer are chosen from a list. */
const MAX_BUTTONS = 4;

export function SessionView({ id, mySeat = null }: { id: string; mySeat?: string | null }) {
  const meeting = useMemo(() => new Meeting(id), [id]);
  useEffect(() => () => meeting.close(), [meeting]);
  meeting.at.value = readNumber(route.value.query, "at");
  const view = meeting.view.value;
  useEffect(() => followLanguage(meeting.live.value?.language), [meeting.live.value?.language]);
  if (view === null) {
    return (
      <>
        <Header />
        <main class="page">
          {meeting.error.value ? (
            <Notice tone="bad" action={<a data-in href="/">{say("all_sessions")}</a>}>
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
  // On a phone the panel comes up when something is selected; whoever follows a link to an entry reads its words first.
  const opened = useRef(params.toString());
  useEffect(() => setUp(isSelected && !(params.has("entry") && params.toString() === opened.current)), [params.toString()]);
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
    if (mySeat !== null) rememberSeat(view.sessionId, mySeat, view.topic);
  }, [mySeat, turn]);
  useEffect(() => {
    setTitle(`${turn ? say("your_turn") : ""}${shortenText(view.topic, 80)} · Moot`);
  }, [turn, view.topic]);
  return (
    <PlaceContext.Provider value={place}>
      <Header>
        <button class={`topic plain ${isReading ? "whole" : ""}`} aria-expanded={isReading} title={view.topic} onClick={() => setReading(!isReading)}>
          {view.topic}
        </button>
        <span class="top-facts">
          {view.demo && (
            <span class="badge" title={say("a_demo_invented_people")}>
              {say("demo")}
            </span>
          )}
          {view.forkedFrom && exported === null && (
            <a class="badge" data-in href={buildPath("compare", view.forkedFrom.sessionId, view.sessionId)} title={say("a_fork_of", { source: view.forkedFrom.sessionId, at: view.forkedFrom.at })}>
              {say("fork")}
            </a>
          )}
          {view.imported && (
            <span class="badge" title={say("imported_on", { on: formatExact(view.imported.at), source: view.imported.source })}>
              {say("imported")}
            </span>
          )}
          {view.memo.what && (
            <span class="top-choice" title={view.memo.result}>
              <b>{view.memo.badge}</b>
              <span class="cut">{view.memo.what}</span>
            </span>
          )}
          <LiveState view={view} isPast={meeting.at.value !== null} />
          <a class="soft spent" href={buildQueryUrl({ ...NOTHING_SELECTED, lens: "about" })} onClick={(event) => {
            event.preventDefault();
            setQuery({ ...NOTHING_SELECTED, lens: "about" });
          }}>
            {view.budget.calls > 0 ? describeSpent(view) : say("about")}
          </a>
        </span>
      </Header>
      <main class={`session ${isUp ? "panel-up" : ""}`}>
        <h1 class="hidden">{view.topic}</h1>
        <div class="left">
          <div class="strip">
            {view.phases.length > 0 && (
              <ol class="phases" aria-label={say("phases")} tabIndex={0}>
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
            <GivenFiles view={view} />
            {query !== null && <Find query={query} onChange={setFind} />}
          </div>
          <Notices view={view} meeting={meeting} mySeat={mySeat} />
          <Timeline meeting={meeting} view={view} query={query ?? ""} seenUpTo={seen.current} onSelect={select} />
        </div>
        <aside class="panel" aria-label={say("panel")}>
          <button class="grip" aria-expanded={isUp} onClick={() => (isUp && isSelected ? setQuery(NOTHING_SELECTED) : setUp(!isUp))}>
            {isUp ? say("back_to_the_timeline") : mySeat ? (turn ? say("it_is_your_turn_answer") : say("your_seat")) : view.status === "concluded" ? say("decision_and_more") : say("decision_so_far_and_more")}
            {!isUp && mySeat === null && view.memo.what && (
              <span class="top-choice">
                <b>{view.memo.badge}</b> <span class="cut">{view.memo.what}</span>
              </span>
            )}
          </button>
          <PanelTabs view={view} isSeat={mySeat !== null} />
          <div class="panel-body" tabIndex={0} role="region" aria-label={say("details")}>
            {mySeat !== null && !isSelected ? <AnswerPanel meeting={meeting} seat={mySeat} /> : <Panel meeting={meeting} view={view} />}
          </div>
          {exported === null && mySeat === null && <Controls view={view} onInvite={() => setInviting(true)} />}
        </aside>
        <Scrubber meeting={meeting} view={view} onFind={() => setFind(query === null ? "" : null)} />
        <p class="hidden" role="status" aria-live="polite">
          {meeting.announced.value}
        </p>
      </main>
      {isPrinting.value && <PrintView meeting={meeting} view={view} />}
      {isInviting && <InviteDialog view={view} onClose={() => setInviting(false)} />}
    </PlaceContext.Provider>
  );
}

/** Of many phases the first, those round the one under way, and the last; `isGap`: some before it are left out. */
function selectPhases(phases: Phase[]): { phase: Phase; index: number; isGap: boolean }[] {
  const now = phases.findLastIndex((phase) => phase.state !== "ahead");
  const shown = [...phases.keys()].filter(
    (index) => phases.length <= MAX_PHASES || index === 0 || index === phases.length - 1 || Math.abs(index - now) <= 2,
  );
  return shown.map((index, place) => ({ phase: phases[index] as Phase, index, isGap: place > 0 && shown[place - 1] !== index - 1 }));
}

function describeSpent(view: View): string {
  const { calls, usd } = view.budget;
  const told = countThings("calls", calls);
  return usd == null || calls === 0 ? told : `${told} · ${formatMoney(usd)}`;
}

function LiveState({ view, isPast }: { view: View; isPast: boolean }) {
  const [kind, word] = isPast
    ? ["past", say("as_it_was")]
    : exported !== null
      ? ["over", say("saved")]
      : view.status === "concluded"
        ? ["over", say("concluded")]
        : view.status === "cancelled"
          ? ["over", say("stopped")]
          : connection.value === "broken"
            ? ["broken", say("offline")]
            : connection.value === "refused"
              ? ["broken", say("no_access")]
            : view.status === "parked"
              ? ["parked", say("parked_2")]
              : view.standing === "waiting"
                ? ["waiting", say("waiting")]
                : ["live", say("live")];
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
  const problem = meeting.error.value || (isPast && meeting.pastError.value);
  const others = view.waiting.filter((each) => !isMine(each));
  return (
    <div class="notices">
      {exported === null && connection.value === "broken" && (
        <Notice tone="warn">
          {say("the_connection_to_the_server_is")}
        </Notice>
      )}
      {exported === null && connection.value === "refused" && !problem && <Notice tone="bad">{refusedBecause.value}</Notice>}
      {!isPast && view.status === "parked" && (
        <Notice
          tone="warn"
          action={
            view.may.includes("resume") && (
              <Action do={() => call("moot.resumeSession", { sessionId: view.sessionId })}>{say("try_again_now")}</Action>
            )
          }
        >
          {say("the_session_is_parked")}
          {view.parked || say("a_participant_cannot_be_reached")}
          {say("full_stop")}
          {say("it_goes_on_when_everybody_can")}
        </Notice>
      )}
      {!isPast && mySeat === null && mine.length > 0 && (
        <Notice
          tone="turn"
          action={
            <>
              {mine.slice(0, MAX_BUTTONS).map((each) => (
                <a class={each.mine ? "button main" : "button"} data-in href={buildPath("seat", view.sessionId, each.seat)} key={each.ask}>
                  {say("answer_as_seat", { seat: each.seat })}
                </a>
              ))}
              {mine.length > MAX_BUTTONS && (
                <select class="quiet" aria-label={say("seats")} value="" onChange={(event) => go(buildPath("seat", view.sessionId, event.currentTarget.value))}>
                  <option value="">{say("count_more", { count: mine.length - MAX_BUTTONS })}</option>
                  {mine.slice(MAX_BUTTONS).map((each) => (
                    <option key={each.ask}>{each.seat}</option>
                  ))}
                </select>
              )}
            </>
          }
        >
          {mine.length === 1 ? (
            <>
              <b>{mine[0]?.seat}</b> {say("is_asked_2")}
              {mine[0]?.what}
            </>
          ) : (
            say("mine_seats_from_outside_are_asked", { mine: mine.length })
          )}
        </Notice>
      )}
      {!isPast && view.status === "thinking" && view.standing === "waiting" && mine.length === 0 && others.length > 0 && (
        <Notice>
          {say("waiting_for")}
          {others.map((each, index) => (
            <>
              {index > 0 && ", "}
              <b>{each.seat}</b>
            </>
          ))}
          {others[0]?.deadline && (
            <>
              {say("until_3")}
              {formatExact(others[0].deadline)}
            </>
          )}
          {say("full_stop")}
          {say("nothing_is_lost_meanwhile_the_session")}
        </Notice>
      )}
      {view.sealed && !isPast && view.status === "thinking" && meeting.items.value.length > 0 && (
        <Notice>{say("what_is_written_now_is_sealed")}</Notice>
      )}
      {problem && <Notice tone="bad">{problem}</Notice>}
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
        aria-label={say("find_in_this_meeting")}
        placeholder={say("find_in_this_meeting")}
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && close()}
      />
      <button class="quiet" aria-label={say("end_the_search")} onClick={close}>
        ✕
      </button>
    </div>
  );
}

function Controls({ view, onInvite }: { view: View; onInvite: () => void }) {
  const name = `input.${view.sessionId}`;
  const [text, setText] = useState(readStored(name) ?? "");
  const [isSure, setSure] = useState<"" | "close" | "cancel">("");
  const keys = useMemo(() => new FormKeys(), []);
  const latest = useRef(text);
  const may = new Set(view.may);
  if (!["input", "close", "cancel", "invite"].some((each) => may.has(each))) return null;
  const write = (value: string): void => {
    latest.current = value;
    setText(value);
    writeStored(name, value);
  };
  const send = async (): Promise<void> => {
    await call("moot.giveInput", { sessionId: view.sessionId, text: text.trim(), idempotencyKey: keys.find(text.trim()) });
    keys.forget();
    // What was written while it was on its way stays.
    write(latest.current.startsWith(text) ? latest.current.slice(text.length).trimStart() : latest.current);
  };
  return (
    <div class="controls" onKeyDown={submitByKey}>
      {may.has("input") && (
        <>
          <textarea
            id="say"
            rows={text.includes("\n") || text.length > 60 ? 4 : 2}
            value={text}
            aria-label={say("say_something_to_the_meeting")}
            placeholder={say("say_something_to_the_meeting_2")}
            onInput={(event) => write(event.currentTarget.value)}
          />
        </>
      )}
      {isSure ? (
        <div class="row">
          <span>
            {isSure === "close"
              ? say("end_now_with_a_decision_from")
              : say("stop_for_good_without_a_decision")}
          </span>
          <Action
            class={isSure === "cancel" ? "danger" : "main"}
            do={async () => {
              await call(isSure === "close" ? "moot.closeSession" : "moot.cancelSession", { sessionId: view.sessionId });
              setSure("");
            }}
          >
            {isSure === "close" ? say("yes_conclude") : say("yes_stop")}
          </Action>
          <button class="quiet" onClick={() => setSure("")}>
            {say("no_2")}
          </button>
        </div>
      ) : (
        <div class="row">
          {may.has("input") && (
            <Action class="main" type="submit" disabled={!text.trim()} do={send}>
              {say("send")}
            </Action>
          )}
          <span class="grow" />
          {may.has("invite") && (
            <button class="quiet" onClick={onInvite}>
              {say("invite")}
            </button>
          )}
          {may.has("close") && (
            <button class="quiet" onClick={() => setSure("close")}>
              {say("conclude_now")}
            </button>
          )}
          {may.has("cancel") && (
            <button class="quiet" onClick={() => setSure("cancel")}>
              {say("stop")}
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
      <button class="quiet" aria-label={say("one_entry_back")} disabled={at <= 1} onClick={() => moveTo(meeting, at - 1)}>
        ◀
      </button>
      <input
        type="range"
        min={1}
        max={Math.max(1, head)}
        value={at}
        aria-label={say("the_meeting_as_it_was_after")}
        aria-valuetext={say("entry_at_of_head", { at, head })}
        onInput={(event) => moveTo(meeting, Number(event.currentTarget.value))}
        style={{ "--at": `${head <= 1 ? 100 : ((at - 1) / (head - 1)) * 100}%` }}
      />
      <button class="quiet" aria-label={say("one_entry_on")} disabled={!isPast} onClick={() => moveTo(meeting, at + 1)}>
        ▶
      </button>
      <span class="place">
        {isPast ? say("entry_at_of_head_2", { at, head }) : say("head_entries", { head })}
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
            {meeting.live.value?.status === "thinking" ? say("back_to_now") : say("back_to_the_end")}
          </button>
        </>
      )}
      <button class="quiet find-button" onClick={onFind}>
        {say("find")}
      </button>
    </footer>
  );
}

function ForkButton({ view, at }: { view: View; at: number }) {
  return (
    <Action
      class="quiet"
      do={async () => {
        const made = await call("moot.forkSession", { sessionId: view.sessionId, at });
        go(buildPath("s", made.sessionId));
      }}
    >
      {say("fork_from_here")}
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
    const selected = readNumber(route.peek().query, "entry");
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
        return isInput(input) ? "text" : "done";
      }
      case "Escape":
        if (route.peek().query.size > 0) setQuery(NOTHING_SELECTED);
        return "done";
      default:
        return "ignored";
    }
  });
}
