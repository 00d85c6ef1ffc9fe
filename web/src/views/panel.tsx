// The one panel beside the timeline: a lens on it, chosen by the URL.
import { useState } from "preact/hooks";
import { Blocks, collectBars, collectReferences, plainText, Reference } from "../blocks";
import { Chart } from "../chart";
import { formatCount, formatExact, formatMoney, formatSeconds, nameOutcome } from "../format";
import { say } from "../language";
import type { Meeting } from "../meeting";
import { Action, Ago, CopyId, Strength } from "../parts";
import { buildPath, buildQueryUrl, exported, route, setQuery } from "../route";
import { call } from "../rpc";
import type { Figure, Item, Seat, View } from "../wire";
import { describeState } from "./seats";

const MOST_TABS = 7;
export const USER = "USER";
export const NOTHING_SELECTED = { lens: null, seat: null, entry: null };

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
  const shown = isAll || view.lenses.length <= MOST_TABS + 1 ? view.lenses : view.lenses.filter((each, index) => index < MOST_TABS || each.id === lens);
  return (
    <nav class="tabs" aria-label={say("Lenses", "视角")}>
      {isSeat && (
        <Tab lens={null} current={lens === null && !isOther}>
          {say("Your seat", "你的席位")}
        </Tab>
      )}
      <Tab lens={isSeat ? "decision" : null} current={lens === (isSeat ? "decision" : null) && !isOther}>
        {say("Decision", "决定")}
      </Tab>
      {shown.map((each) => (
        <Tab key={each.id} lens={each.id} current={lens === each.id && !isOther}>
          {each.title}
        </Tab>
      ))}
      <Tab lens="about" current={lens === "about" && !isOther}>
        {say("About", "关于")}
      </Tab>
      {shown.length < view.lenses.length && (
        <button class="plain soft" aria-expanded={false} onClick={() => setAll(true)}>
          {say(`${view.lenses.length - shown.length} more …`, `其余 ${view.lenses.length - shown.length} 项……`)}
        </button>
      )}
    </nav>
  );
}

export function Panel({ meeting, view }: { meeting: Meeting; view: View }) {
  const query = route.value.query;
  const seat = view.seats.find((each) => each.id === query.get("seat"));
  if (seat) return <SeatLens seat={seat} view={view} items={meeting.items.value} />;
  const entry = Number(query.get("entry")) || null;
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

function DecisionLens({ view }: { view: View }) {
  const title = view.status === "concluded" || view.status === "cancelled" ? say("Decision", "决定") : say("Decision so far", "目前的决定");
  const [first, ...rest] = view.decision;
  const shown = first?.kind === "heading" ? rest : view.decision;
  // The report begins with the choice in a line of its own: here that line is the headline.
  const [line, ...after] = shown;
  const isHeadline = line?.kind === "line" && typeof line.text[0] === "object" && "strong" in line.text[0] && line.text[0].strong === view.choice;
  const words = isHeadline ? plainText(line.text.slice(1)).replace(/^[\s·]+/, "") : "";
  const blocks = isHeadline ? after : shown;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {view.choice && (
        <>
          <p class="choice">{view.choice}</p>
          <p>
            <Strength strength={view.strength} /> {words && <span class="soft">{words.replace(/^\S+\s*(?=[(（])/, "")}</span>}
          </p>
        </>
      )}
      {view.numbers.length > 0 && <Figures figures={view.numbers} />}
      <Blocks blocks={blocks} />
      {view.status === "concluded" && exported === null && (
        <p>
          <a data-in href={buildPath("decisions", view.sessionId)}>
            {say("From the question to the outcome, and how it turned out", "从问题到结果，以及后来如何")}
          </a>
        </p>
      )}
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
              title={say("How it came about", "如何得出")}
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
              {say("until", "截止")} {formatExact(waiting.deadline)}
            </>
          )}
        </p>
      )}
      <dl>
        <div>
          <dt>{say("Filled by", "由谁担任")}</dt>
          <dd>{seat.platform}</dd>
        </div>
        {seat.family && (
          <div>
            <dt>{say("Model family", "模型族")}</dt>
            <dd>{seat.family}</dd>
          </div>
        )}
        <div>
          <dt>{say("Weight", "权重")}</dt>
          <dd>{Math.round(seat.weight * 100) / 100}</dd>
        </div>
        <div>
          <dt>{say("Spoke", "发言")}</dt>
          <dd>
            {said.length === 0
              ? say("not yet", "尚未")
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
            {say("Sit here", "坐这个席位")}
          </a>
        </p>
      )}
      {reactions.length > 1 && (
        <Chart
          block={{
            kind: "lines",
            label: say("How much it wanted to speak, turn by turn", "每轮的发言意愿"),
            labels: reactions.map((_, index) => String(index + 1)),
            series: [{ name: seat.id, values: reactions.map(({ bar }) => bar.value) }],
            bounds: [],
          }}
        />
      )}
    </section>
  );
}

function EntryLens({ item, view, items }: { item: Item; view: View; items: Item[] }) {
  const entry = item.entry ?? 0;
  const answers = [...new Set(collectReferences(item.blocks))].filter((each) => each !== entry);
  const answered = items.filter((each) => each.entry && each.entry !== entry && collectReferences(each.blocks).includes(entry));
  const seat = view.seats.find((each) => each.id === item.seat);
  const [block] = item.blocks;
  const inner = block?.kind === "card" ? block.blocks.filter((each) => each.kind !== "quote") : [];
  return (
    <section aria-label={say(`Entry ${entry}`, `第 ${entry} 条`)}>
      <h2 class={seat ? `seat-title hue-${seat.hue}` : ""}>
        #{entry} {item.seat === USER ? say("User", "用户") : item.seat}
      </h2>
      <dl>
        {item.at && (
          <div>
            <dt>{say("Said", "时间")}</dt>
            <dd>
              {formatExact(item.at)} <span class="soft">(<Ago at={item.at} />)</span>
            </dd>
          </div>
        )}
        {seat?.stance && (
          <div>
            <dt>{say("Speaks as", "立场")}</dt>
            <dd>{seat.stance}</dd>
          </div>
        )}
        <div>
          <dt>{say("Refers to", "引用")}</dt>
          <dd>{answers.length === 0 ? <span class="soft">{say("nothing", "无")}</span> : <ReferenceList entries={answers} />}</dd>
        </div>
        <div>
          <dt>{say("Taken up by", "被引用于")}</dt>
          <dd>
            {answered.length === 0 ? (
              <span class="soft">{say("nobody so far", "暂无")}</span>
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
          <dt>{say("In the record", "账本条目")}</dt>
          <dd>{say(`entry ${item.seq} of ${view.head}`, `第 ${item.seq} 条，共 ${view.head} 条`)}</dd>
        </div>
      </dl>
      {inner.map((each, index) => (each.kind === "details" ? <Blocks key={index} blocks={each.blocks} /> : <Blocks key={index} blocks={[each]} />))}
      <p class="row">
        <button class="quiet" onClick={() => setQuery({ at: String(item.seq) })}>
          {say("Show the meeting as it was then", "查看当时的会议状态")}
        </button>
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
    return limit === null || limit === undefined ? "" : say(` of ${format(limit)}`, `，上限 ${format(limit)}`);
  };
  const forked = view.forkedFrom;
  const from = !forked ? null : typeof forked === "string" ? { id: forked, at: null } : { id: forked.sessionId ?? forked.session ?? "", at: forked.at ?? null };
  return (
    <section aria-label={say("About", "关于")}>
      <h2>{say("About this session", "关于此会议")}</h2>
      <p class="question">{view.topic}</p>
      <dl>
        <Row name={say("Id", "编号")}>
          <CopyId id={view.sessionId} />
        </Row>
        <Row name={say("Protocol", "规程")}>{view.protocol}</Row>
        <Row name={say("Opened", "开始")}>
          <Ago at={view.openedAt} />
        </Row>
        <Row name={say("Last entry", "最近条目")}>
          <Ago at={view.lastAt} />
        </Row>
        {from && (
          <Row name={say("Forked from", "分叉自")}>
            <a data-in href={buildPath("s", from.id) + (from.at ? `?at=${from.at}` : "")}>
              {from.id}
              {from.at ? ` #${from.at}` : ""}
            </a>
          </Row>
        )}
        {view.options.length > 0 && <Row name={say("Options", "选项")}>{view.options.join(" / ")}</Row>}
        {view.context.length > 0 && <Row name={say("Files", "文件")}>{view.context.map((each) => each.name).join(", ")}</Row>}
        {view.outcome && <Row name={say("Outcome", "结果")}>{nameOutcome(view.outcome)}</Row>}
        <Row name={say("Calls", "调用")}>{formatCount(budget.calls)}</Row>
        <Row name={say("Turns", "轮次")}>
          {formatCount(budget.turns)}
          {of("turns", formatCount)}
        </Row>
        <Row name={say("Tokens", "词元")}>
          {formatCount(budget.tokens)}
          {of("tokens", formatCount)}
        </Row>
        <Row name={say("Money", "费用")}>
          {budget.usd == null ? say("not known for every model", "并非所有模型的价格都已知") : formatMoney(budget.usd)}
          {of("usd", formatMoney)}
        </Row>
        <Row name={say("Time", "用时")}>
          {formatSeconds(budget.seconds)}
          {of("seconds", formatSeconds)}
        </Row>
      </dl>
      {Object.keys(view.settings ?? {}).length > 0 && (
        <details class="fold">
          <summary>{say("Settings", "设置")}</summary>
          <dl>
            {Object.entries(view.settings).map(([name, value]) => (
              <Row key={name} name={name}>
                {typeof value === "object" ? JSON.stringify(value) : String(value)}
              </Row>
            ))}
          </dl>
        </details>
      )}
      {exported === null && (
        <p class="row">
          <Action class="quiet" do={() => saveExport(view.sessionId, "html")}>
            {say("Save this page as a file", "将此页存为文件")}
          </Action>
          <Action class="quiet" do={() => saveExport(view.sessionId, "minutes")}>
            {say("Save the minutes", "保存会议纪要")}
          </Action>
        </p>
      )}
    </section>
  );
}

function Row({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

async function saveExport(sessionId: string, form: "html" | "minutes"): Promise<void> {
  const { text } = await call<{ text: string }>("moot.exportSession", { sessionId, form });
  const address = URL.createObjectURL(new Blob([text], { type: form === "html" ? "text/html" : "text/markdown" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${sessionId}.${form === "html" ? "html" : "md"}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
