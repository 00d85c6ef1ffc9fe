// The one panel beside the timeline: a lens on it, chosen by the URL.
import { useState } from "preact/hooks";
import { Blocks, collectBars, collectReferences, Reference } from "../blocks";
import { Chart } from "../chart";
import { formatCount, formatExact, formatMoney, formatRange, formatSeconds, nameTerm } from "../format";
import { language, say } from "../language";
import type { Meeting } from "../meeting";
import { Action, Ago, CopyId, copyText, useLoad } from "../parts";
import { buildPath, buildQueryUrl, exported, NOTHING_SELECTED, readNumber, route, setQuery } from "../route";
import { call, mayDo, mayOpen } from "../rpc";
import type { Figure, Item, Seat, SessionPlan as Plan, View } from "../wire";
import { Tools } from "../shell";
import { ShareLink } from "./invite";
import { buildOpeningParams } from "./opening";
import { describeState } from "./seats";

const MAX_TABS = 7;
export const USER = "USER";

function Tab({ lens, current, children }: { lens: string | null; current: boolean; children: string }) {
  const changes = { ...NOTHING_SELECTED, lens };
  return (
    <a
      href={buildQueryUrl(changes)}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        setQuery(changes);
      }}
    >
      {children}
    </a>
  );
}

export function PanelTabs({ view, isSeat }: { view: View; isSeat: boolean }) {
  const query = route.value.query;
  const lens = query.get("lens");
  const isOther = query.has("seat") || query.has("entry");
  const [isAll, setAll] = useState(false);
  const shown = isAll || view.lenses.length <= MAX_TABS + 1 ? view.lenses : view.lenses.filter((each, index) => index < MAX_TABS || each.id === lens);
  return (
    <nav class="tabs" aria-label={say("lenses")}>
      {isSeat && (
        <Tab lens={null} current={lens === null && !isOther}>
          {say("your_seat")}
        </Tab>
      )}
      <Tab lens={isSeat ? "decision" : null} current={lens === (isSeat ? "decision" : null) && !isOther}>
        {say("decision")}
      </Tab>
      {shown.map((each) => (
        <Tab key={each.id} lens={each.id} current={lens === each.id && !isOther}>
          {each.title}
        </Tab>
      ))}
      <Tab lens="about" current={lens === "about" && !isOther}>
        {say("about")}
      </Tab>
      {shown.length < view.lenses.length && (
        <button class="plain soft" aria-expanded={false} onClick={() => setAll(true)}>
          {say("count_more", { count: view.lenses.length - shown.length })}
        </button>
      )}
    </nav>
  );
}

export function Panel({ meeting, view }: { meeting: Meeting; view: View }) {
  const query = route.value.query;
  const seat = view.seats.find((each) => each.id === query.get("seat"));
  if (seat) return <SeatLens seat={seat} view={view} items={meeting.items.value} />;
  const entry = readNumber(query, "entry");
  const item = entry === null ? undefined : meeting.items.value.find((each) => each.entry === entry);
  if (item) return <EntryLens item={item} view={view} items={meeting.items.value} />;
  const id = query.get("lens");
  if (id === "about") return <AboutLens view={view} />;
  const lens = view.lenses.find((each) => each.id === id);
  if (lens) {
    return (
      <section aria-label={lens.title} key={lens.id}>
        <h2>{lens.title}</h2>
        <Blocks blocks={lens.blocks} />
      </section>
    );
  }
  return <DecisionLens view={view} />;
}

export function DecisionLens({ view }: { view: View }) {
  const title = view.status === "concluded" || view.status === "cancelled" ? say("decision") : say("decision_so_far");
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <div class="memo">
        <Blocks blocks={view.decisionBlocks.filter((block) => block.kind !== "heading")} />
      </div>
      <Blocks blocks={view.argumentBlocks} />
      {view.status !== "concluded" && view.status !== "cancelled" && <StateSoFar view={view} />}
      {view.numbers.length > 0 && (
        <details class="fold">
          <summary>{say("figures")}</summary>
          <Figures figures={view.numbers} />
        </details>
      )}
      {view.status === "concluded" && exported === null && (
        <p class="screen-only row">
          <a data-in href={buildPath("decisions", view.sessionId)}>
            {say("from_the_question_to_the_outcome")}
          </a>
          <span class="grow" />
          {mayOpen() && (
            <a class="button quiet" data-in href={`/new?from=${encodeURIComponent(view.sessionId)}`}>
              {say("ask_again")}
            </a>
          )}
          <CopyMarkdown read={async () => (await call("moot.exportSession", { sessionId: view.sessionId, form: "minutes" })).text} />
        </p>
      )}
    </section>
  );
}

/** The minutes, or what was said in one entry, as Markdown for a ticket or a mail. */
function CopyMarkdown({ read }: { read: () => Promise<string> }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Action
      class="quiet"
      do={async () => {
        setCopied(await copyText(await read()));
        setTimeout(() => setCopied(false), 1500);
      }}
    >
      {isCopied ? say("copied_2") : say("copy_as_markdown")}
    </Action>
  );
}

/** The sections of a report that say where a meeting stands, those that say most first. */
const STATE = ["candidates", "consensus", "positions", "challenges", "steps", "by_round", "consultations", "passed"];
const MAX_SECTIONS = 4;

/** Where a running meeting stands: what is awaited, the sections of its report that move, what it has used. */
function StateSoFar({ view }: { view: View }) {
  const known = STATE.flatMap((id) => view.lenses.filter((lens) => lens.id === id));
  const sections = (known.length > 0 ? known : view.lenses.filter((lens) => !["seats", "cost", "roles"].includes(lens.id))).slice(0, MAX_SECTIONS);
  const limits = Object.entries(view.budget.limits ?? {}).flatMap(([name, most]) => {
    const used = view.budget[name as "turns" | "tokens" | "usd" | "seconds"];
    return most && typeof used === "number" ? [{ name, used, most }] : [];
  });
  const format = (name: string, value: number): string => (name === "usd" ? formatMoney(value) : name === "seconds" ? formatSeconds(value) : formatCount(value));
  const named: Record<string, string> = { turns: say("turns"), tokens: say("tokens"), usd: say("money"), seconds: say("time") };
  return (
    <div class="so-far">
      {view.waiting.length > 0 && (
        <section>
          <h3>{say("awaited")}</h3>
          <ul class="awaited">
            {view.waiting.map((each) => (
              <li key={each.ask} class={`hue-${view.seats.find((seat) => seat.id === each.seat)?.hue ?? 0}`}>
                <b class="who">{each.seat}</b> <span>{each.what}</span>
                <span class="soft">
                  {each.deadline ? `${say("until_2")} ${formatExact(each.deadline)}` : <Ago at={each.since} />}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {sections.map((lens) => (
        <section key={lens.id}>
          <h3>{lens.title}</h3>
          <Blocks blocks={lens.blocks} />
        </section>
      ))}
      <Expected view={view} />
      {limits.length > 0 && (
        <section>
          <h3>{say("used_so_far")}</h3>
          <dl>
            {limits.map(({ name, used, most }) => (
              <div key={name}>
                <dt>{named[name] ?? name}</dt>
                <dd>
                  <meter value={used} max={most} aria-label={named[name] ?? name} /> {format(name, used)}
                  {say("of_limit", { limit: format(name, most) })}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      )}
    </div>
  );
}

/** What a running meeting has taken, beside what was expected of it. */
function Expected({ view }: { view: View }) {
  const mayPlan = mayOpen() && exported === null && !view.demo;
  const { value } = useLoad(async () => (mayPlan ? call("moot.planSession", buildOpeningParams(view, await call("moot.getOpening", { language: language.peek() }))) : null), `plan ${view.sessionId}`);
  if (!value || value.calls.most === 0) return null;
  const rows: [string, number | null, Plan["calls"] | null | undefined, (value: number) => string][] = [
    [say("calls"), view.budget.calls, value.calls, formatCount],
    [say("tokens"), view.budget.tokens, value.tokens, formatCount],
    [say("money"), view.budget.usd, value.usd, formatMoney],
  ];
  return (
    <section>
      <h3>{say("used_and_expected")}</h3>
      <dl>
        {rows.map(([name, used, range, format]) =>
          used == null || !range ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {range.most > 0 && <meter value={Math.min(used, range.most)} max={range.most} high={range.most} aria-label={name} />} {format(used)}{" "}
                <span class="soft">{say("expected_range", { range: formatRange(range, format) })}</span>
              </dd>
            </div>
          ),
        )}
      </dl>
    </section>
  );
}

/** Figures that say how they came about when they are clicked. */
function Figures({ figures }: { figures: Figure[] }) {
  const [open, setOpen] = useState<string | null>(null);
  const shown = figures.find((each) => each.name === open);
  return (
    <div class="figures">
      <ul>
        {figures.map((each) => (
          <li key={each.name}>
            <button
              aria-expanded={each.name === open}
              title={say("how_it_came_about")}
              onClick={() => setOpen(each.name === open ? null : each.name)}
              disabled={each.how.length === 0}
            >
              <b>{each.value}</b>
              <span>{each.name}</span>
            </button>
          </li>
        ))}
      </ul>
      {shown && (
        <div class="how" role="region" aria-label={shown.name}>
          <Blocks blocks={shown.how} />
        </div>
      )}
    </div>
  );
}

function SeatLens({ seat, view, items }: { seat: Seat; view: View; items: Item[] }) {
  const said = items.filter((item) => item.seat === seat.id && item.entry);
  const reactions = items.flatMap((item) => collectBars(item.blocks, seat.id).slice(0, 1).map((bar) => ({ item, bar })));
  const waiting = view.waiting.find((each) => each.seat === seat.id);
  return (
    <section aria-label={seat.id}>
      <h2 class={`seat-title hue-${seat.hue}`}>{seat.id}</h2>
      {seat.stance && <p class="soft">{seat.stance}</p>}
      <p>
        {describeState(seat)}
        {seat.why && <span class="soft"> · {seat.why}</span>}
      </p>
      {waiting && (
        <p class="soft">
          {waiting.what} <Ago at={waiting.since} />
          {waiting.deadline && (
            <>
              {" · "}
              {say("until_2")} {formatExact(waiting.deadline)}
            </>
          )}
        </p>
      )}
      <dl>
        <div>
          <dt>{say("filled_by")}</dt>
          <dd>{seat.platform}</dd>
        </div>
        {seat.family && (
          <div>
            <dt>{say("model_family")}</dt>
            <dd>{seat.family}</dd>
          </div>
        )}
        <div>
          <dt>{say("weight")}</dt>
          <dd>{Math.round(seat.weight * 100) / 100}</dd>
        </div>
        <div>
          <dt>{say("spoke")}</dt>
          <dd>
            {said.length === 0
              ? say("not_yet")
              : said.slice(-30).map((item, index) => (
                  <>
                    {index > 0 && ", "}
                    <Reference entry={item.entry ?? 0} />
                  </>
                ))}
          </dd>
        </div>
      </dl>
      {view.may.includes(`answer:${seat.id}`) && (
        <p>
          <a class="button" data-in href={buildPath("seat", view.sessionId, seat.id)}>
            {say("sit_here")}
          </a>
        </p>
      )}
      {reactions.length > 1 && (
        <Chart
          block={{
            kind: "lines",
            label: say("how_much_it_wanted_to_speak"),
            labels: reactions.map((_, index) => String(index + 1)),
            series: [{ name: seat.id, values: reactions.map(({ bar }) => bar.value) }],
            bounds: [],
          }}
        />
      )}
    </section>
  );
}

/** What was said in an entry, quoted under who said it, with the way to it. */
async function quoteEntry(view: View, item: Item): Promise<string> {
  const { text } = await call("moot.getText", { sessionId: view.sessionId, entry: item.entry ?? 0 });
  const way = `${location.origin}${buildPath("s", view.sessionId)}?entry=${item.entry}`;
  return `**${item.seat === USER ? say("user") : item.seat}** ([#${item.entry}](${way}))\n\n${text.replace(/^/gm, "> ")}\n`;
}

function EntryLens({ item, view, items }: { item: Item; view: View; items: Item[] }) {
  const entry = item.entry ?? 0;
  const answers = [...new Set(collectReferences(item.blocks))].filter((each) => each !== entry);
  const answered = items.filter((each) => each.entry && each.entry !== entry && collectReferences(each.blocks).includes(entry));
  const seat = view.seats.find((each) => each.id === item.seat);
  const [block] = item.blocks;
  const inner = block?.kind === "card" ? block.blocks.filter((each) => each.kind !== "quote") : [];
  return (
    <section aria-label={say("entry_entry", { entry })}>
      <h2 class={seat ? `seat-title hue-${seat.hue}` : ""}>
        #{entry} {item.seat === USER ? say("user") : item.seat}
      </h2>
      <dl>
        {item.at && (
          <div>
            <dt>{say("said")}</dt>
            <dd>
              {formatExact(item.at)} <span class="soft">(<Ago at={item.at} />)</span>
            </dd>
          </div>
        )}
        {seat?.stance && (
          <div>
            <dt>{say("speaks_as")}</dt>
            <dd>{seat.stance}</dd>
          </div>
        )}
        <div>
          <dt>{say("refers_to")}</dt>
          <dd>{answers.length === 0 ? <span class="soft">{say("nothing")}</span> : <ReferenceList entries={answers} />}</dd>
        </div>
        <div>
          <dt>{say("taken_up_by")}</dt>
          <dd>
            {answered.length === 0 ? (
              <span class="soft">{say("nobody_so_far")}</span>
            ) : (
              answered.map((each, index) => (
                <>
                  {index > 0 && ", "}
                  <Reference entry={each.entry ?? 0} /> <span class="soft">{each.seat}</span>
                </>
              ))
            )}
          </dd>
        </div>
        <div>
          <dt>{say("in_the_record")}</dt>
          <dd>{say("entry_seq_of_head", { seq: item.seq, head: view.head })}</dd>
        </div>
      </dl>
      {inner.map((each, index) => (each.kind === "details" ? <Blocks key={index} blocks={each.blocks} /> : <Blocks key={index} blocks={[each]} />))}
      <p class="row">
        <button class="quiet" onClick={() => setQuery({ at: String(item.seq) })}>
          {say("show_the_meeting_as_it_was")}
        </button>
        {exported === null && <CopyMarkdown read={() => quoteEntry(view, item)} />}
      </p>
    </section>
  );
}

function ReferenceList({ entries }: { entries: number[] }) {
  return (
    <>
      {entries.map((each, index) => (
        <>
          {index > 0 && ", "}
          <Reference entry={each} />
        </>
      ))}
    </>
  );
}

function AboutLens({ view }: { view: View }) {
  const budget = view.budget;
  const limits = budget.limits ?? {};
  const of = (name: string, format: (value: number) => string): string => {
    const limit = limits[name];
    return limit === null || limit === undefined ? "" : say("of_limit", { limit: format(limit) });
  };
  const from = view.forkedFrom;
  return (
    <section aria-label={say("about")}>
      <h2>{say("about_this_session")}</h2>
      <p class="question">{view.topic}</p>
      <dl>
        <Row name={say("id")}>
          <CopyId id={view.sessionId} />
        </Row>
        <Row name={say("protocol")}>{nameTerm("protocols", view.protocol)}</Row>
        <Row name={say("opened")}>
          <Ago at={view.openedAt} />
        </Row>
        <Row name={say("last_entry")}>
          <Ago at={view.lastAt} />
        </Row>
        {from && (
          <Row name={say("forked_from")}>
            <a data-in href={`${buildPath("s", from.sessionId)}?at=${from.at}`}>
              {from.sessionId} #{from.at}
            </a>
          </Row>
        )}
        {view.options.length > 0 && <Row name={say("options")}>{view.options.join(" / ")}</Row>}
        {view.context.length > 0 && <Row name={say("files")}>{view.context.map((each) => each.name).join(", ")}</Row>}
        {view.outcome && <Row name={say("outcome")}>{nameTerm("outcomes", view.outcome)}</Row>}
        <Row name={say("calls")}>{formatCount(budget.calls)}</Row>
        <Row name={say("turns")}>
          {formatCount(budget.turns)}
          {of("turns", formatCount)}
        </Row>
        <Row name={say("tokens")}>
          {formatCount(budget.tokens)}
          {of("tokens", formatCount)}
        </Row>
        <Row name={say("money")}>
          {budget.usd == null ? say("not_known_for_every_model") : formatMoney(budget.usd)}
          {of("usd", formatMoney)}
        </Row>
        <Row name={say("time")}>
          {formatSeconds(budget.seconds)}
          {of("seconds", formatSeconds)}
        </Row>
      </dl>
      {Object.keys(view.settings ?? {}).length > 0 && (
        <details class="fold">
          <summary>{say("settings")}</summary>
          <dl>
            {Object.entries(view.settings).map(([name, value]) => (
              <Row key={name} name={name}>
                {typeof value === "object" ? JSON.stringify(value) : String(value)}
              </Row>
            ))}
          </dl>
        </details>
      )}
      <div class="phone-tools">
        <Tools />
      </div>
      {exported === null && (
        <p class="row">
          <Action class="quiet" do={() => saveExport(view.sessionId, "html")}>
            {say("save_this_page_as_a_file")}
          </Action>
          <Action class="quiet" do={() => saveExport(view.sessionId, "minutes")}>
            {say("save_the_minutes")}
          </Action>
        </p>
      )}
      {exported === null && mayDo("own") && <ShareLink view={view} />}
    </section>
  );
}

export function Row({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

async function saveExport(sessionId: string, form: "html" | "minutes"): Promise<void> {
  const { text } = await call("moot.exportSession", { sessionId, form });
  const address = URL.createObjectURL(new Blob([text], { type: form === "html" ? "text/html" : "text/markdown" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${sessionId}.${form === "html" ? "html" : "md"}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
