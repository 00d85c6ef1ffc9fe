// A person's seat: what is asked in plain words, and a form for the answer. What is typed survives a reload.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { collectWords } from "../blocks";
import { formatExact, shortenText } from "../format";
import { submitByKey } from "../keys";
import { say } from "../language";
import type { Meeting } from "../meeting";
import { Action, Loading, Notice, useLoad } from "../parts";
import { call, describeError, newKey } from "../rpc";
import { readStored, writeStored } from "../storage";
import { connection, refusedBecause } from "../stream";
import type { Item, PersonAsk, PersonStep, View } from "../wire";
import { USER } from "./panel";

/** Answers are of now, wherever the timeline stands. */
export function AnswerPanel({ meeting, seat }: { meeting: Meeting; seat: string }) {
  const view = meeting.live.value;
  return view && <OpenAsk meeting={meeting} view={view} seat={seat} />;
}

function OpenAsk({ meeting, view, seat }: { meeting: Meeting; view: View; seat: string }) {
  // Any change of the session may bring an ask or take one away; until it is known, whoever writes keeps the form.
  const open = view.waiting.filter((each) => each.seat === seat).map((each) => each.ask);
  const { value, error, again } = useLoad(
    () => call("moot.getPersonAsks", { sessionId: view.sessionId, seat }),
    `${view.sessionId} ${seat}`,
    open.join(","),
  );
  const [sent, setSent] = useState("");
  const [written, setWritten] = useState({ ask: "", words: "" });
  const person = value?.asks.find((each) => each.ask.ask !== sent) ?? null;
  const own = view.seats.find((each) => each.id === seat);
  const title = useRef<HTMLHeadingElement>(null);
  // On a phone the form lies over the notices of the session.
  const refused = meeting.error.value || (connection.value === "refused" ? refusedBecause.value : "");
  const shown = useRef("");
  shown.current = person?.ask.ask ?? "";
  return (
    <section aria-label={say("your_seat")}>
      <h2 class={own ? `seat-title hue-${own.hue}` : ""} ref={title} tabIndex={-1}>
        {say("you_sit_as")}
        {seat}
      </h2>
      {own?.stance && <p class="soft">{own.stance}</p>}
      {error && <Notice tone="bad">{error}</Notice>}
      {refused && !error && (
        <div class="phone-only">
          <Notice tone="bad">{refused}</Notice>
        </div>
      )}
      {!own && !error && <Notice tone="bad">{say("there_is_no_seat_called_seat", { seat })}</Notice>}
      {written.words && value !== null && ![sent, person?.ask.ask].includes(written.ask) && (
        <Notice
          tone="warn"
          action={
            <button class="quiet" onClick={() => setWritten({ ask: "", words: "" })}>
              {say("close")}
            </button>
          }
        >
          {say("the_question_is_closed_you_had_written")}
          <blockquote class="about" dir="auto">{written.words}</blockquote>
        </Notice>
      )}
      {value === null ? (
        !error && <Loading />
      ) : person ? (
        <AskForm
          key={person.ask.ask}
          person={person}
          items={meeting.liveItems.all.value}
          view={view}
          title={title}
          onWrite={(words) => setWritten({ ask: person.ask.ask, words })}
          onSent={() => {
            // The form is gone in a moment: the keyboard goes on where it was. The stream may have brought the next question before the
            // answer to this call: then somebody writes there already.
            if (["", person.ask.ask].includes(shown.current)) title.current?.focus();
            setSent(person.ask.ask);
            void again();
            void meeting.load();
          }}
        />
      ) : own ? (
        <Waiting view={view} isSent={sent !== ""} />
      ) : null}
    </section>
  );
}

function Waiting({ view, isSent }: { view: View; isSent: boolean }) {
  if (view.status === "concluded" || view.status === "cancelled") {
    return <Notice>{say("the_session_is_over_its_decision")}</Notice>;
  }
  return (
    <>
      <Notice>
        {isSent ? say("recorded") : ""}
        {view.status === "parked"
          ? say("the_session_is_parked_you_are")
          : say("it_is_not_your_turn_now")}
      </Notice>
      <NotifyButton />
    </>
  );
}

function NotifyButton() {
  const [state, setState] = useState("Notification" in window ? Notification.permission : "denied");
  if (state !== "default") return null;
  return (
    <button class="quiet" onClick={async () => setState(await Notification.requestPermission())}>
      {say("notify_me_when_it_is_my")}
    </button>
  );
}

interface Understood {
  question: string;
  choice: string;
  isEmpty: boolean;
}

/** What was understood, before it counts: Enter sends it, Escape takes it back. */
function Confirm({ understood, onSend, onChange }: { understood: Understood[]; onSend: () => Promise<void>; onChange: () => void }) {
  const form = useRef<HTMLFormElement>(null);
  const change = (): void => {
    onChange();
    requestAnimationFrame(() => document.getElementById("answer")?.focus({ preventScroll: true }));
  };
  // Before it is painted: the next Enter is meant for it.
  useLayoutEffect(() => form.current?.querySelector("button")?.focus(), []);
  return (
    <form class="form ask" data-test="confirm" ref={form} onSubmit={(event) => event.preventDefault()} onKeyDown={(event) => event.key === "Escape" && change()}>
      <Notice tone="turn">
        <b>{say("this_is_what_will_count")}</b>
      </Notice>
      <dl class="understood">
        {understood.map(({ question, choice, isEmpty }, index) => (
          <div key={index}>
            <dt class="soft">{question}</dt>
            <dd dir="auto" class={isEmpty ? "left-empty" : ""}>{choice}</dd>
          </div>
        ))}
      </dl>
      <div class="row">
        <Action class="main" type="submit" do={onSend}>
          {say("yes_send_it")}
        </Action>
        <button type="button" class="quiet" onClick={change}>
          {say("change_it")} <kbd>Esc</kbd>
        </button>
      </div>
    </form>
  );
}

interface AskFormProps {
  person: PersonAsk;
  view: View;
  items: Item[];
  title: RefObject<HTMLHeadingElement | null>;
  /** What is written and not on its way: it stays to be read where the question ends meanwhile. */
  onWrite: (words: string) => void;
  onSent: () => void;
}

function AskForm({ person, view, items, title, onWrite, onSent }: AskFormProps) {
  const { ask, steps, commands } = person;
  const name = `draft.${view.sessionId}.${ask.ask}`;
  const [answers, setAnswers] = useState<Record<string, string>>(() => readDraft(name, steps));
  const [problem, setProblem] = useState("");
  const [understood, setUnderstood] = useState<Understood[]>([]);
  const key = useRef(newKey());
  const asked = view.waiting.find((each) => each.ask === ask.ask)?.what;
  useEffect(() => {
    // Whoever has a keyboard writes at once; who does something else meanwhile is not interrupted.
    const isFree = document.activeElement === document.body || document.activeElement === title.current;
    if (isFree && matchMedia("(pointer: fine)").matches) document.getElementById("answer")?.focus({ preventScroll: true });
  }, []);
  const words = steps.flatMap((step) => (step.choices.length === 0 && answers[step.key]?.trim() ? [answers[step.key]] : [])).join("\n\n");
  useEffect(() => onWrite(words), [words]);
  const isAsked = (step: PersonStep): boolean => {
    if (!step.onlyAfter) return true;
    const [key, values] = step.onlyAfter;
    const said = answers[key] ?? "";
    // Without values any answer will do.
    return values.length === 0 ? said.trim() !== "" : values.includes(said);
  };
  const shown = steps.filter(isAsked);
  const write = (step: PersonStep, value: string): void => {
    setAnswers((old) => {
      const next = { ...old, [step.key]: value };
      writeStored(name, JSON.stringify(next));
      return next;
    });
    setProblem("");
  };
  const send = async (what: object): Promise<void> => {
    const params = { sessionId: view.sessionId, seat: ask.seat, ask: ask.ask, idempotencyKey: key.current, ...what };
    onWrite("");
    await call("moot.answerAsPerson", params).catch((error: unknown) => {
      onWrite(words);
      throw new Error(describeError(error));
    });
    writeStored(name, null);
    onSent();
  };
  const sendAnswers = async (): Promise<void> => {
    const missing = shown.find((step) => step.needed && !answers[step.key]?.trim());
    if (missing) {
      setProblem(say("please_answer_missing", { missing: missing.text }));
      return;
    }
    const given = Object.fromEntries(shown.flatMap((step) => (answers[step.key]?.trim() ? [[step.key, answers[step.key]]] : [])));
    const isChosen = shown.some((step) => ["position", "option"].includes(step.kind) && answers[step.key]?.trim());
    if (understood.length === 0 && isChosen) setUnderstood(shown.map((step) => describeAnswer(step, answers[step.key] ?? "", items)));
    else await send({ answers: given });
  };
  if (understood.length > 0) return <Confirm understood={understood} onSend={sendAnswers} onChange={() => setUnderstood([])} />;
  const groups = [...new Set(shown.map((step) => step.group))];
  return (
    <form class="form ask" data-test="ask" data-ask={ask.ask} onSubmit={(event) => event.preventDefault()} onKeyDown={submitByKey}>
      <Notice tone="turn">
        <b>{say("it_is_your_turn")}</b>
        {person.intro ? `${say("full_stop")}${person.intro}` : asked ? `${say("colon")}${asked}` : ""}
        {ask.deadline && (
          <span class="soft">
            {" "}
            {say("until")}
            {formatExact(ask.deadline)}
          </span>
        )}
      </Notice>
      {person.about && <blockquote class="about" dir="auto">{person.about.replace(/^\| ?/gm, "")}</blockquote>}
      {groups.map((group) => (
        <Group key={group} name={group}>
          {shown
            .filter((step) => step.group === group)
            .map((step, index) => (
              <Step key={step.key} step={step} items={items} id={index === 0 && group === groups[0] ? "answer" : `answer-${step.key}`} value={answers[step.key] ?? ""} onChange={(value) => write(step, value)} />
            ))}
        </Group>
      ))}
      {problem && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      <div class="row">
        <Action class="main" type="submit" do={sendAnswers}>
          {say("send_the_answer")}
        </Action>
        {commands.map((command) => (
          <Action class="quiet" key={command.word} do={() => send({ command: command.word })}>
            {command.text || command.word}
          </Action>
        ))}
      </div>
      {person.consults.length > 0 && <ConsultForm seats={person.consults} onAsk={(to, question) => send({ consult: { to, question } })} />}
      <details class="fold">
        <summary>{say("everything_that_a_participant_is_told")}</summary>
        <pre class="scroll wrap" tabIndex={0}>
          {[ask.briefing, ask.instructions].filter(Boolean).join("\n\n")}
        </pre>
      </details>
    </form>
  );
}

/** What counts for one question: what was said, or what leaving it empty means. */
function describeAnswer(step: PersonStep, answer: string, items: Item[]): Understood {
  if (!answer.trim()) return { question: step.text, choice: say("left_empty", { meaning: step.ifEmpty ?? "" }), isEmpty: true };
  const named = listEntries(step, items).find((item) => String(item.entry) === answer);
  const choice = step.choices.find((each) => each.value === answer)?.text;
  return { question: step.text, choice: choice ?? (named ? describeEntry(named) : answer), isEmpty: false };
}

/** A question to another seat, before the answer; the form comes back with the reply. */
function ConsultForm({ seats, onAsk }: { seats: string[]; onAsk: (to: string, question: string) => Promise<void> }) {
  const [to, setTo] = useState(seats[0] ?? "");
  const [question, setQuestion] = useState("");
  return (
    <details class="fold" data-test="consult">
      <summary>{say("ask_before_you_answer")}</summary>
      <label>
        {say("whom_do_you_ask")}
        <select value={to} onChange={(event) => setTo(event.currentTarget.value)}>
          {seats.map((seat) => (
            <option key={seat} value={seat}>
              {seat}
            </option>
          ))}
        </select>
      </label>
      <label>
        {say("what_do_you_ask")}
        <textarea rows={3} value={question} onInput={(event) => setQuestion(event.currentTarget.value)} />
      </label>
      <Action class="quiet" disabled={!question.trim()} do={() => onAsk(to, question)}>
        {say("put_the_question")}
      </Action>
    </details>
  );
}

function Group({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return name ? <div class="group">{children}</div> : <>{children}</>;
}

function readDraft(name: string, steps: PersonStep[]): Record<string, string> {
  const defaults = Object.fromEntries(steps.filter((step) => step.default).map((step) => [step.key, step.default]));
  try {
    const kept: unknown = JSON.parse(readStored(name) ?? "{}");
    return { ...defaults, ...(kept as Record<string, string>) };
  } catch {
    return defaults;
  }
}

/** An entry in one line, for a list to choose from. */
function describeEntry(item: Item): string {
  const [block] = item.blocks;
  const words = block?.kind === "card" ? collectWords(block.blocks.slice(0, 1)) : "";
  return `#${item.entry} ${item.seat === USER ? say("user") : (item.seat ?? "")}: ${shortenText(words, 60)}`;
}

interface StepProps {
  step: PersonStep;
  items: Item[];
  id: string;
  value: string;
  onChange: (value: string) => void;
}

/** The entries among which a step lets one be named; empty where its numbers are typed. */
function listEntries(step: PersonStep, items: Item[]): Item[] {
  if (step.kind !== "number" && step.kind !== "reference") return [];
  const numbers = new Set(step.numbers ?? []);
  return items.filter((item) => item.entry && numbers.has(item.entry));
}

function Step({ step, items, id, value, onChange }: StepProps) {
  const entries = listEntries(step, items);
  if (entries.length > 0) {
    return (
      <label>
        {step.text}
        <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{step.ifEmpty ?? "–"}</option>
          {entries.map((item) => (
            <option key={item.entry} value={String(item.entry)}>
              {describeEntry(item)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  if (step.choices.length > 0 && step.choices.length <= 8) {
    const empty = step.ifEmpty ? [{ value: "", text: say("left_empty", { meaning: step.ifEmpty }) }] : [];
    const lines = [...empty, ...step.choices];
    const focused = lines.find((each) => each.value === value) ?? lines[0];
    return (
      <fieldset>
        <legend>{step.text}</legend>
        {lines.map((line) => (
          <label class={`choice-line ${line.value ? "" : "left-empty"}`} key={line.value}>
            <input type="radio" id={line === focused ? id : undefined} name={`${id}-${step.key}`} checked={value === line.value} onChange={() => onChange(line.value)} />
            {line.text}
          </label>
        ))}
      </fieldset>
    );
  }
  if (step.choices.length > 8) {
    return (
      <label>
        {step.text}
        <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{step.ifEmpty ?? "–"}</option>
          {step.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.text}
            </option>
          ))}
        </select>
      </label>
    );
  }
  const described = step.ifEmpty ? `${id}-empty` : undefined;
  return (
    <div class="step">
      <label>
        {step.text}
        {step.long ? (
          <textarea id={id} rows={5} value={value} aria-describedby={described} onInput={(event) => onChange(event.currentTarget.value)} />
        ) : (
          <input id={id} type="text" inputMode={step.kind === "number" || step.kind === "reference" ? "numeric" : "text"} value={value} aria-describedby={described} onInput={(event) => onChange(event.currentTarget.value)} />
        )}
      </label>
      {step.ifEmpty && (
        <p class="soft left-empty" id={described}>
          {say("left_empty", { meaning: step.ifEmpty })}
        </p>
      )}
    </div>
  );
}
