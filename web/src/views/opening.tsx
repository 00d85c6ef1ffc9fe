// A new session: the question, who decides it how, and what it will cost.
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatCount, formatMoney, formatRange } from "../format";
import { submitByKey } from "../keys";
import { language, say } from "../language";
import { Action, Loading, Notice, RETRY, useLoad } from "../parts";
import { buildPath, go, route } from "../route";
import { call, CallError, describeError, FormKeys, mayOpen } from "../rpc";
import { Header } from "../shell";
import { readStored, writeStored } from "../storage";
import { setTitle } from "../turns";
import { buildFileParam, FilePicker, type GivenFile, measureFiles } from "./files";
import type { Opening, Option, SessionPlan, Setting, View } from "../wire";

interface SeatIn {
  id: string;
  platform: string;
  stance: string;
}
/** Files of more bytes than these are not sent with every word that is typed. */
const MANY = 500_000;
const DRAFT = "new";
const MAILBOX = "mailbox";

interface Draft {
  topic: string;
  protocol: string;
  panel: string;
  seats: SeatIn[];
  /** The options of the session by their names, as they were typed. */
  options: Record<string, string>;
  settings: Record<string, string>;
}
const EMPTY: Draft = { topic: "", protocol: "persona", panel: "", seats: [], options: {}, settings: {} };

function readDraft(): Draft {
  const topic = route.peek().query.get("topic") ?? "";
  try {
    const kept = { ...EMPTY, ...(JSON.parse(readStored(DRAFT) ?? "{}") as Partial<Draft>) };
    // A draft of an older page has its options as text.
    const options = typeof kept.options === "object" ? kept.options : {};
    return { ...kept, options, ...(topic ? { topic } : {}) };
  } catch {
    return { ...EMPTY, topic };
  }
}

/** The form as a session was opened with, to be asked again with changes. */
function buildAgain(view: View): Draft {
  const budget = view.budget.limits ?? {};
  const options = { options: view.options.join("\n"), turns: budget.turns, tokens: budget.tokens, money: budget.usd, time: budget.seconds && `${budget.seconds}s` };
  const settings = Object.entries(view.settings ?? {}).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value) || Array.isArray(value));
  return {
    topic: view.topic,
    protocol: view.protocol,
    panel: "",
    // The seats of a demo say only what was written for them.
    seats: view.demo ? [] : view.seats.map(({ id, platform, stance }) => ({ id, platform: platform === MAILBOX ? "" : platform, stance })),
    options: Object.fromEntries(Object.entries(options).flatMap(([name, value]) => (value ? [[name, String(value)]] : []))),
    settings: Object.fromEntries(settings.map(([name, value]) => [`${view.protocol}.${name}`, writeSetting(value)])),
  };
}

/** What opened a session, as a call takes it; without its files. */
export function buildOpeningParams(view: View, opening: Opening | null): Record<string, unknown> {
  return buildParams(buildAgain(view), [], opening);
}

function buildParams(draft: Draft, files: GivenFile[], opening: Opening | null): Record<string, unknown> {
  const known = opening?.protocols.find((each) => each.name === draft.protocol)?.settings ?? [];
  const settings = Object.fromEntries(
    known.flatMap((each) => {
      const given = draft.settings[`${draft.protocol}.${each.name}`];
      return given === undefined || given.trim() === "" ? [] : [[each.name, readSetting(each, given)]];
    }),
  );
  const options = Object.fromEntries(
    listOptions(draft, opening).flatMap((each) => {
      const given = draft.options[each.name];
      return given === undefined || given.trim() === "" ? [] : [[each.name, readSetting(each, given)]];
    }),
  );
  const seats = draft.seats.filter((each) => each.id.trim());
  return {
    topic: draft.topic.trim(),
    protocol: draft.protocol,
    ...options,
    ...(seats.length > 0
      ? { seats: seats.map((each) => ({ id: each.id.trim(), ...(each.platform ? { platform: each.platform } : {}), ...(each.stance ? { stance: each.stance } : {}) })) }
      : draft.panel
        ? { panel: draft.panel }
        : {}),
    ...(Object.keys(settings).length > 0 ? { settings } : {}),
    ...(files.length > 0 ? { files: files.map(buildFileParam) } : {}),
  };
}

/** The options that the chosen protocol can honour. */
function listOptions(draft: Draft, opening: Opening | null): Option[] {
  return (opening?.options ?? []).filter((each) => !each.refusedBy?.[draft.protocol]);
}

function readSetting({ name, type }: Setting, text: string): unknown {
  // What is no number goes as it was typed, to be refused: a limit must not be lost without a word.
  if (/^(integer|number|int|float)/.test(type)) return Number.isFinite(Number(text)) ? Number(text) : text;
  if (/^bool/.test(type)) return text === "true";
  const lines = text.split("\n").map((each) => each.trim()).filter(Boolean);
  if (type === "texts") return lines;
  return type === "array" ? lines.map((line) => (name === "steps" ? readStep(line) : line)) : text === NOTHING ? "" : text;
}

const STEP = /^([^,，:：{]+)[,，]\s*([^,，:：]+)([,，]\s*gate)?\s*[:：]\s*(.+)$/;
const STEPS = "draft, ada: …\ncheck, bob, gate: …";

/** A step of a pipeline as STEPS shows them, or as JSON; what is neither goes as it is, to be refused. */
function readStep(line: string): unknown {
  const [, name, agent, gate, task] = STEP.exec(line) ?? [];
  if (task) return { name: name?.trim(), agent: agent?.trim(), task, gate: Boolean(gate) };
  try {
    return line.startsWith("{") ? JSON.parse(line) : line;
  } catch {
    return line;
  }
}

/** A text that is empty on purpose, as in "no judge": an empty field is the usual value. */
const NOTHING = '""';

function writeSetting(value: unknown): string {
  if (value === "") return NOTHING;
  return Array.isArray(value) ? value.map((each) => (typeof each === "object" ? JSON.stringify(each) : each)).join("\n") : String(value);
}

export function NewSession() {
  const { value: opening, error } = useLoad(() => call("moot.getOpening", { language: language.value }), `opening ${language.value}`);
  const [draft, setDraft] = useState<Draft>(readDraft);
  const [files, setFiles] = useState<GivenFile[]>([]);
  const [problem, setProblem] = useState("");
  const [own, setOwn] = useState(readPanels);
  const keys = useMemo(() => new FormKeys(), []);
  const change = (changes: Partial<Draft>): void => {
    const next = { ...draft, ...changes };
    setDraft(next);
    writeStored(DRAFT, JSON.stringify(next));
    // What the address brought is in the draft now: a reload must not put it over what was written since.
    if (route.peek().query.size > 0) go(location.pathname, { replace: true });
  };
  const source = route.value.query.get("from");
  useEffect(() => {
    if (!source) return;
    call("moot.getView", { sessionId: source, limit: 1 }).then(
      (view) => change(buildAgain(view)),
      (why: unknown) => setProblem(describeError(why)),
    );
  }, [source]);
  useEffect(() => {
    setTitle(`${say("new_session")} · Moot`);
  }, [language.value]);
  const protocol = opening?.protocols.find((each) => each.name === draft.protocol);
  const params = buildParams(draft, files, opening);
  return (
    <>
      <Header />
      <main class="page two">
        <form class="form" onSubmit={(event) => event.preventDefault()} onKeyDown={submitByKey}>
          <h1>{say("ask_something")}</h1>
          {mayOpen() ? error && <Notice tone="bad">{error}</Notice> : <Notice tone="bad">{say("you_may_not_open_sessions_here")}</Notice>}
          <label>
            {say("the_question")}
            <textarea
              rows={3}
              value={draft.topic}
              placeholder={say("should_we_rewrite_billing_in_stages")}
              onInput={(event) => change({ topic: event.currentTarget.value })}
            />
          </label>
          <fieldset>
            <legend>{say("how_it_is_decided")}</legend>
            <div class="tiles">
              {opening?.protocols.map((each) => (
                <label class="tile" key={each.name}>
                  <input type="radio" name="protocol" checked={draft.protocol === each.name} onChange={() => change({ protocol: each.name })} />
                  <span>
                    <b>{each.title || each.name}</b>
                    <span class="soft">{each.summary}</span>
                  </span>
                </label>
              ))}
            </div>
          </fieldset>
          <fieldset>
            <legend>{say("who_decides")}</legend>
            <div class="tiles">
              <PanelTile isOn={draft.seats.length === 0 && draft.panel === ""} title={say("the_default_panel")} note={say("whom_moot_finds_here")} onChoose={() => change({ panel: "", seats: [] })} />
              {opening?.panels
                .filter((each) => each.name !== "default")
                .map((each) => (
                  <PanelTile
                    key={each.name}
                    isOn={draft.seats.length === 0 && draft.panel === each.name}
                    title={each.title || each.name}
                    note={each.seats.map((seat) => (typeof seat === "string" ? seat : seat.id)).join(", ")}
                    onChoose={() => change({ panel: each.name, seats: [] })}
                  />
                ))}
              {Object.entries(own).map(([name, seats]) => (
                <PanelTile
                  key={name}
                  isOn={JSON.stringify(draft.seats) === JSON.stringify(seats)}
                  title={name}
                  note={`${seats.map((each) => each.id).join(", ")} · ${say("kept_in_this_browser")}`}
                  onChoose={() => change({ panel: "", seats })}
                  onForget={() => {
                    writeStored(PANELS, JSON.stringify(Object.fromEntries(Object.entries(own).filter(([each]) => each !== name))));
                    setOwn(readPanels());
                  }}
                />
              ))}
              <PanelTile
                isOn={draft.seats.length > 0 && !Object.values(own).some((seats) => JSON.stringify(seats) === JSON.stringify(draft.seats))}
                title={say("seats_of_my_own")}
                note={say("models_people_agents")}
                onChoose={() => change({ seats: draft.seats.length > 0 ? draft.seats : buildFirstSeats(opening) })}
              />
            </div>
            {draft.seats.length > 0 && (
              <>
                <SeatEditor seats={draft.seats} opening={opening} onChange={(seats) => change({ seats })} />
                <SavePanel seats={draft.seats} onSaved={() => setOwn(readPanels())} />
              </>
            )}
          </fieldset>
          <details class="fold more">
            <summary>{say("possible_answers_stakes_files_budget_settings")}</summary>
            <FilePicker files={files} onChange={setFiles} />
            <div class="settings">
              {listOptions(draft, opening).map((each) => (
                <SettingField key={each.name} setting={each} value={draft.options[each.name] ?? ""} onChange={(value) => change({ options: { ...draft.options, [each.name]: value } })} />
              ))}
            </div>
            {(protocol?.settings ?? []).length > 0 && (
              <div class="settings">
                {protocol?.settings.map((each) => {
                  const name = `${draft.protocol}.${each.name}`;
                  return <SettingField key={name} setting={each} value={draft.settings[name] ?? ""} onChange={(value) => change({ settings: { ...draft.settings, [name]: value } })} />;
                })}
              </div>
            )}
          </details>
          {problem && (
            <p class="bad" role="alert">
              {problem}
            </p>
          )}
          <div class="row">
            <Action
              class="main"
              type="submit"
              disabled={!draft.topic.trim() || !mayOpen()}
              do={async () => {
                const made = await call("moot.openSession", { ...params, idempotencyKey: keys.find(params) });
                keys.forget();
                writeStored(DRAFT, JSON.stringify({ ...draft, topic: "", options: { ...draft.options, options: "" } }));
                go(buildPath("s", made.sessionId));
              }}
            >
              {say("start_the_session")}
            </Action>
          </div>
        </form>
        <Estimate params={params} files={files} isAsked={draft.topic.trim() !== "" && mayOpen()} isFramed={listOptions(draft, opening).some((each) => each.name === "frame")} options={draft.options} onChange={(options) => change({ options: { ...draft.options, ...options } })} />
        {!opening && !error && mayOpen() && <Loading />}
      </main>
    </>
  );
}

function SettingField({ setting, value, onChange }: { setting: Setting; value: string; onChange: (value: string) => void }) {
  const usual = setting.default === undefined || setting.default === null ? say("as_the_rules_say") : String(setting.default);
  const choices = setting.type === "boolean" ? ["true", "false"] : (setting.choices ?? []);
  return (
    <label>
      <span class="setting-name" lang="en">{setting.name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`)}</span>
      <span class="soft">{setting.help}</span>
      {choices.length > 0 ? (
        <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{nameValue(usual)}</option>
          {choices.filter((each) => each !== usual).map((each) => (
            <option key={each} value={each}>
              {nameValue(each)}
            </option>
          ))}
        </select>
      ) : ["texts", "array"].includes(setting.type) ? (
        <textarea rows={2} value={value} placeholder={setting.name === "steps" ? STEPS : say("one_on_each_line")} onInput={(event) => onChange(event.currentTarget.value)} />
      ) : (
        <input type="text" inputMode={/^(integer|number)/.test(setting.type) ? "decimal" : "text"} value={value === NOTHING && !setting.default ? "" : value} placeholder={usual} onInput={(event) => onChange(event.currentTarget.value)} />
      )}
    </label>
  );
}

function nameValue(value: string): string {
  return value === "true" ? say("yes") : value === "false" ? say("no") : value;
}

function PanelTile({ isOn, title, note, onChoose, onForget }: { isOn: boolean; title: string; note: string; onChoose: () => void; onForget?: () => void }) {
  return (
    <label class="tile">
      <input type="radio" name="panel" checked={isOn} onChange={onChoose} />
      <span>
        <b>{title}</b>
        <span class="soft">{note}</span>
      </span>
      {onForget && (
        <button type="button" class="quiet" aria-label={say("take_name_away", { name: title })} onClick={onForget}>
          ✕
        </button>
      )}
    </label>
  );
}

const PANELS = "panels";

/** The panels that were saved in this browser, by their names. */
function readPanels(): Record<string, SeatIn[]> {
  try {
    return JSON.parse(readStored(PANELS) ?? "{}") as Record<string, SeatIn[]>;
  } catch {
    return {};
  }
}

function SavePanel({ seats, onSaved }: { seats: SeatIn[]; onSaved: () => void }) {
  const [name, setName] = useState("");
  const save = (): void => {
    writeStored(PANELS, JSON.stringify({ ...readPanels(), [name.trim()]: seats }));
    setName("");
    onSaved();
  };
  return (
    <div class="row save-panel">
      <input type="text" maxLength={60} value={name} aria-label={say("name_of_the_panel")} placeholder={say("name_of_the_panel")} onInput={(event) => setName(event.currentTarget.value)} />
      <button type="button" class="quiet" disabled={!name.trim()} onClick={save}>
        {say("save_these_seats")}
      </button>
    </div>
  );
}

function buildFirstSeats(opening: Opening | null): SeatIn[] {
  const model = opening?.participants.find((each) => each.found && each.platform !== MAILBOX)?.platform ?? "";
  return ["ada", "bob", "me"].map((id) => ({ id, platform: id === "me" ? "" : model, stance: "" }));
}

function SeatEditor({ seats, opening, onChange }: { seats: SeatIn[]; opening: Opening | null; onChange: (seats: SeatIn[]) => void }) {
  const set = (at: number, changes: Partial<SeatIn>): void => onChange(seats.map((each, index) => (index === at ? { ...each, ...changes } : each)));
  return (
    <div class="seat-editor">
      <datalist id="platforms">
        {opening?.participants.map((each) => (
          <option key={each.platform} value={each.platform}>
            {each.title}
          </option>
        ))}
      </datalist>
      {seats.map((seat, index) => (
        <div class="row fields" key={index} role="group" aria-label={say("seat_index", { index: index + 1 })}>
          <label>
            {say("name")}
            <input type="text" value={seat.id} maxLength={64} onInput={(event) => set(index, { id: event.currentTarget.value })} />
          </label>
          <label>
            {say("participant")}
            <input
              type="text"
              list="platforms"
              value={seat.platform}
              placeholder={say("a_person_or_agent_from_outside")}
              onInput={(event) => set(index, { platform: event.currentTarget.value })}
            />
          </label>
          <label>
            {say("stands_for")}
            <input type="text" value={seat.stance} maxLength={200} onInput={(event) => set(index, { stance: event.currentTarget.value })} />
          </label>
          <button type="button" class="quiet" aria-label={say("take_seat_index_away", { index: index + 1 })} onClick={() => onChange(seats.filter((_, at) => at !== index))}>
            ✕
          </button>
        </div>
      ))}
      <button type="button" class="quiet" onClick={() => onChange([...seats, { id: "", platform: "", stance: "" }])}>
        + {say("another_seat")}
      </button>
    </div>
  );
}

const OFF = "off";

/** The kinds of questions by their names, in the language of the page. */
function nameKinds(): [string, string][] {
  return [
    ["choice", say("kind_choice")],
    ["yes_no", say("kind_yes_no")],
    ["number", say("kind_number")],
    ["forecast", say("kind_forecast")],
    ["open", say("kind_open")],
    [OFF, say("kind_off")],
  ];
}

/** What kind of question it is and which answers are listed, before the session opens: taken as it stands, or changed. */
function Framing({ plan, params, options, onChange, onAsked }: { plan: SessionPlan; params: Record<string, unknown>; options: Record<string, string>; onChange: (options: Record<string, string>) => void; onAsked: () => void }) {
  const [note, setNote] = useState("");
  const frame = plan.frame;
  const isOff = options.frame === OFF;
  const kind = isOff ? OFF : options.kind || (frame?.kind ?? "");
  const answers = options.options ?? "";
  return (
    <section class="framing" aria-label={say("the_answers")}>
      <h3>{say("the_answers")}</h3>
      <label>
        <span class="soft">{say("kind_of_question")}</span>
        <select
          value={kind}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            onChange({ frame: chosen === OFF ? OFF : "", kind: chosen === OFF ? "" : chosen, ...(chosen === "choice" ? {} : { options: "" }) });
          }}
        >
          {!frame && !isOff && <option value="">{say("not_plain")}</option>}
          {nameKinds().map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {(kind === "choice" || (kind === "" && answers)) && (
        <label>
          <span class="soft">{say("answers_one_on_each_line")}</span>
          <textarea rows={3} value={answers || (frame?.answers ?? []).join("\n")} onInput={(event) => onChange({ options: event.currentTarget.value, kind: "" })} />
        </label>
      )}
      {frame?.assumes && <p class="soft">{say("takes_for_granted", { assumes: frame.assumes })}</p>}
      {frame?.madeBy === "model" && <p class="soft">{say("listed_by_model", { model: frame.model ?? "" })}</p>}
      {plan.framedBy && (
        <>
          <p class="soft">{say("will_be_asked_once", { model: plan.framedBy })}</p>
          <Action
            class="quiet"
            do={async () => {
              const framed = await call("moot.frameQuestion", params);
              setNote(framed.fault ? say("list_not_used", { model: framed.asked ?? "" }) : "");
              onAsked();
            }}
          >
            {say("ask_for_the_answers_now")}
          </Action>
        </>
      )}
      {note && <p class="soft">{note}</p>}
    </section>
  );
}

/** What the session will take, asked for again whenever the form rests. */
function Estimate({
  params,
  files,
  isAsked,
  isFramed,
  options,
  onChange,
}: {
  params: Record<string, unknown>;
  files: GivenFile[];
  isAsked: boolean;
  /** Whether sessions of the chosen protocol list answers at all. */
  isFramed: boolean;
  options: Record<string, string>;
  onChange: (options: Record<string, string>) => void;
}) {
  const [plan, setPlan] = useState<SessionPlan | null>(null);
  const [error, setError] = useState("");
  const [times, setTimes] = useState(0);
  const wanted = JSON.stringify([{ ...params, files: [] }, files.map((each) => [each.name, each.size]), times]);
  useEffect(() => {
    if (!isAsked) {
      setPlan(null);
      setError("");
      return;
    }
    let isCurrent = true;
    setError("");
    const load = async (): Promise<void> => {
      try {
        const found = await call("moot.planSession", params);
        if (isCurrent) {
          setPlan(found);
          setError("");
        }
      } catch (why) {
        if (!isCurrent) return;
        setError(describeError(why));
        if (why instanceof CallError && why.kind === "Offline") timer = window.setTimeout(load, RETRY);
      }
    };
    let timer = window.setTimeout(load, measureFiles(files) > MANY ? 2_000 : 400);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [wanted, isAsked]);
  return (
    <aside class="estimate" aria-label={say("what_it_will_take")} aria-live="polite">
      <h2>{say("what_it_will_take")}</h2>
      {!isAsked ? (
        <p class="soft">{say("write_the_question_then_the_calls")}</p>
      ) : error ? (
        <Notice tone="bad">{error}</Notice>
      ) : plan ? (
        <>
          <dl>
            <div>
              <dt>{say("calls")}</dt>
              <dd>{formatRange(plan.calls, formatCount)}</dd>
            </div>
            <div>
              <dt>{say("tokens")}</dt>
              <dd>{formatRange(plan.tokens, formatCount)}</dd>
            </div>
            <div>
              <dt>{say("price")}</dt>
              <dd>{plan.usd == null ? say("not_known") : formatRange(plan.usd, formatMoney)}</dd>
            </div>
          </dl>
          {isFramed && <Framing plan={plan} params={params} options={options} onChange={onChange} onAsked={() => setTimes(times + 1)} />}
          <h3>{say("seats")}</h3>
          <ul class="plan-seats">
            {plan.seats.map((seat) => (
              <li key={seat.id}>
                <b>{seat.id}</b> <span class="soft">{[seat.stance, seat.platform === MAILBOX ? say("a_person_or_agent_from_outside") : seat.platform].filter(Boolean).join(" · ")}</span>
              </li>
            ))}
          </ul>
          {plan.notes.map((note, index) => (
            <p class="soft" key={index}>
              {note}
            </p>
          ))}
        </>
      ) : (
        <Loading />
      )}
    </aside>
  );
}
