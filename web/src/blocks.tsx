// The blocks of a report, as the server describes them. Words of participants enter the page here and nowhere else.
import type { ComponentChildren } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Chart } from "./chart";
import { say } from "./language";
import { memo } from "./memo";
import { Cell } from "./parts";
import { PlaceContext } from "./place";
import type { Bar, Block, CardBlock, Span, Text, Tone } from "./wire";

const SIGNS: Record<Tone, string> = { plain: "", strong: "", dim: "", good: "▲", warn: "◆", bad: "▼" };

export function Sign({ tone }: { tone: Tone }) {
  return SIGNS[tone] ? (
    <i class={`sign ${tone}`} aria-hidden="true">
      {SIGNS[tone]}
    </i>
  ) : null;
}

function highlight(entry: number, isOn: boolean): void {
  document.getElementById(`entry-${entry}`)?.classList.toggle("pointed", isOn);
}

export function Reference({ entry, words }: { entry: number; words?: string }) {
  const place = useContext(PlaceContext);
  const shown = words ?? `#${entry}`;
  if (place.linkTo === null) return <>{shown}</>;
  return (
    <a
      class={words === undefined ? "ref" : "ref words"}
      href={place.linkTo(entry)}
      onMouseEnter={() => highlight(entry, true)}
      onMouseLeave={() => highlight(entry, false)}
      onFocus={() => highlight(entry, true)}
      onBlur={() => highlight(entry, false)}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        highlight(entry, false);
        place.followTo(entry);
      }}
    >
      {shown}
    </a>
  );
}

function SpanView({ span }: { span: Span }) {
  if (typeof span === "string") return <>{span}</>;
  if ("ref" in span) {
    const [before = "", ...after] = span.text.split("{line}");
    return (
      <>
        {before}
        {span.ref.map((entry, index) => (
          <>
            {index > 0 && ", "}
            <Reference entry={entry} />
          </>
        ))}
        {after.join("")}
      </>
    );
  }
  if ("link" in span) return <Reference entry={span.link} words={span.words} />;
  if ("strong" in span) return <b>{span.strong}</b>;
  if ("muted" in span) return <span class="soft">{span.muted}</span>;
  return (
    <span class={`tag ${span.tone}`}>
      <Sign tone={span.tone} />
      {span.mark}
    </span>
  );
}

export function TextView({ text }: { text: Text }) {
  return (
    <>
      {text.map((span, index) => (
        <SpanView key={index} span={span} />
      ))}
    </>
  );
}

export function plainText(text: Text): string {
  return text
    .map((span) => {
      if (typeof span === "string") return span;
      if ("ref" in span) return span.text.replace("{line}", span.ref.map((each) => `#${each}`).join(", "));
      if ("link" in span) return span.words;
      return "strong" in span ? span.strong : "muted" in span ? span.muted : span.mark;
    })
    .join("");
}

const SAFE_LINK = /^(https?:|mailto:)/i;

/** Make the links of a quote harmless to follow: other schemes lose their target, the rest opens apart from this page. */
function guardLinks(host: HTMLElement): void {
  // What scrolls by itself must be reachable by keyboard.
  for (const wide of host.querySelectorAll<HTMLElement>("pre, table")) wide.tabIndex = 0;
  for (const link of host.querySelectorAll("a")) {
    if (SAFE_LINK.test(link.getAttribute("href") ?? "")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer nofollow";
    } else {
      link.removeAttribute("href");
    }
  }
}

interface HtmlPolicy {
  createHTML(html: string): string;
}
const policy: HtmlPolicy | undefined = (
  window as { trustedTypes?: { createPolicy(name: string, rules: HtmlPolicy): HtmlPolicy } }
).trustedTypes?.createPolicy("moot-quote", { createHTML: (html) => html });

/** What a participant wrote. The one place where HTML is set: the server rendered it from Markdown and let no raw HTML through. */
export const Quote = memo(function Quote({ html, tone }: { html: string; tone: Tone }) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (host.current) {
      host.current.innerHTML = policy ? policy.createHTML(html) : html;
      guardLinks(host.current);
    }
  }, [html]);
  return <div class={`quote ${tone}`} dir="auto" ref={host} />;
});

function CutQuote({ html, tone, entry }: { html: string; tone: Tone; entry: number | null }) {
  const place = useContext(PlaceContext);
  const [whole, setWhole] = useState<string | null>(null);
  const [error, setError] = useState("");
  const load = place.loadWhole;
  return (
    <>
      <Quote html={whole ?? html} tone={tone} />
      {whole !== null ? null : load && entry !== null ? (
        <button class="quiet" onClick={() => load(entry).then(setWhole, (why: Error) => setError(why.message))}>
          {say("show_all_of_it")}
        </button>
      ) : (
        <p class="soft">{say("cut_here_the_text_goes_on")}</p>
      )}
      {error && <p class="bad">{error}</p>}
    </>
  );
}

export function BarView({ bar, hue }: { bar: Bar; hue: number | null }) {
  const share = Math.max(0, Math.min(1, bar.value)) * 100;
  return (
    <div class="bar">
      <span class="bar-name">
        <Sign tone={bar.tone} />
        {bar.name}
      </span>
      <span class="track" aria-hidden="true">
        <i class={hue === null ? `fill ${bar.tone}` : `fill hue-${hue}`} style={{ width: `${share}%` }} />
      </span>
      <span class="soft bar-text">{bar.text}</span>
    </div>
  );
}

/** Bars so small that a line holds all of a turn's. */
function MiniBars({ bars }: { bars: Bar[] }) {
  const place = useContext(PlaceContext);
  return (
    <span class="mini-bars">
      {bars.map((bar, index) => {
        const hue = bar.seat ? place.hueOf(bar.seat) : null;
        return (
          <span class="mini" key={index} title={`${bar.name} ${bar.text}`}>
            <span class="mini-track" aria-hidden="true">
              <i class={hue === null ? `fill ${bar.tone}` : `fill hue-${hue}`} style={{ width: `${Math.max(0, Math.min(1, bar.value)) * 100}%` }} />
            </span>
            {bar.name}
          </span>
        );
      })}
    </span>
  );
}

/** What is printed of a fold: all but the texts of files and tools, of which those lines that somebody cites. */
function selectPrinted(blocks: Block[]): Block[] {
  return blocks.flatMap((block): Block[] => {
    if (block.kind !== "pre") return [block];
    return block.marked?.length ? [{ ...block, lines: block.lines.filter((_, index) => block.marked?.includes(index)), marked: [] }] : [];
  });
}

function DetailsView({ summary, blocks }: { summary: string; blocks: Block[] }) {
  // What is folded away is built when somebody looks.
  const [isOpen, setOpen] = useState(false);
  const bars = blocks.length === 1 && blocks[0]?.kind === "bars" ? blocks[0].bars : null;
  if (useContext(PlaceContext).isPaper) {
    return bars ? (
      <MiniBars bars={bars} />
    ) : (
      <>
        <p class="soft">{summary}</p>
        <Blocks blocks={selectPrinted(blocks)} />
      </>
    );
  }
  return (
    <details class="fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {bars && !isOpen ? (
          <>
            <MiniBars bars={bars} />
            <span class="fold-words">{summary}</span>
          </>
        ) : (
          summary
        )}
      </summary>
      {isOpen && <Blocks blocks={blocks} />}
    </details>
  );
}

/** How wide a text is in a line: a Chinese character counts for two. */
function countColumns(text: string): number {
  return text.length + (text.match(/[\u2e80-\uffef]/g)?.length ?? 0);
}

/** A cell with nothing in it is left out where a row stands as names with values. */
function judgeCell(text: string): "" | "wide" | "none" {
  return text.length > 16 ? "wide" : text === "" || text === "–" ? "none" : "";
}

function TableView({ heads, rows }: { heads: string[]; rows: Text[][] }) {
  // Where the columns have no room beside each other, each row stands as names with values.
  const width = heads.reduce((sum, head, at) => {
    const longest = Math.max(...rows.map((row) => countColumns(plainText(row[at] ?? []))), ...head.split(/\s/).map(countColumns));
    return sum + Math.min(28, longest) + 2;
  }, 0);
  const stack = width > 68 ? "stack" : width > 42 ? "stack-small" : "";
  return (
    <div class={`table ${stack}`}>
      <table>
        <thead>
          <tr>
            {heads.map((head, index) => (
              <th scope="col" key={index}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <Cell key={index} name={heads[index]} look={judgeCell(plainText(cell))}>
                  <TextView text={cell} />
                </Cell>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Whole percents that add up to what the shares add up to: the largest remainders are rounded up. */
function roundShares(values: number[]): number[] {
  const parts = values.map((value) => value * 100);
  const whole = parts.map((part) => Math.floor(part + 1e-9));
  const missing = Math.round(parts.reduce((sum, part) => sum + part, 0)) - whole.reduce((sum, part) => sum + part, 0);
  const order = [...parts.keys()].sort((a, b) => (parts[b] ?? 0) - (whole[b] ?? 0) - (parts[a] ?? 0) + (whole[a] ?? 0));
  const raised = new Set(order.slice(0, missing));
  return whole.map((part, index) => part + (raised.has(index) ? 1 : 0));
}

export function SharesView({ parts }: { parts: Bar[] }) {
  const percents = roundShares(parts.map((part) => part.value));
  return (
    <div class="shares">
      <div class="share-bar" aria-hidden="true">
        {parts.map((part, index) => (
          <i key={index} class={`fill ${part.tone}`} style={{ flexGrow: part.value }} />
        ))}
      </div>
      <ul class="key">
        {parts.map((part, index) => (
          <li key={index}>
            <Sign tone={part.tone} />
            {part.name} <span class="soft">{percents[index]} %</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function CardHead({ head }: { head: Text[] }) {
  const shown = head.filter((text) => text.length > 0);
  if (shown.length === 0) return null;
  return (
    <header class="head">
      {shown.map((text, index) => (
        <span key={index}>
          <TextView text={text} />
        </span>
      ))}
    </header>
  );
}

function CardView({ card }: { card: CardBlock }) {
  const place = useContext(PlaceContext);
  const hue = card.seat ? place.hueOf(card.seat) : null;
  return (
    <div class={`card ${card.look} ${hue === null ? "" : `edge hue-${hue}`}`}>
      <CardHead head={card.head} />
      <Blocks blocks={card.blocks} entry={card.entry ?? null} />
    </div>
  );
}

function BlockView({ block, entry }: { block: Block; entry: number | null }): ComponentChildren {
  const place = useContext(PlaceContext);
  switch (block.kind) {
    case "heading": {
      const Level = block.level <= 2 ? "h3" : "h4";
      return <Level>{block.text}</Level>;
    }
    case "line":
      return block.text.length === 0 ? null : (
        <p class={`line ${block.tone}`}>
          <Sign tone={block.tone} />
          <TextView text={block.text} />
        </p>
      );
    case "quote":
      return block.cut ? <CutQuote html={block.html} tone={block.tone} entry={entry} /> : <Quote html={block.html} tone={block.tone} />;
    case "fields":
      return (
        <dl>
          {block.rows.map(([name, value], index) => (
            <div key={index}>
              <dt>{name}</dt>
              <dd>
                <TextView text={value} />
              </dd>
            </div>
          ))}
        </dl>
      );
    case "bullets":
      return (
        <ul class={`bullets ${block.tone}`}>
          {block.items.map((item, index) => (
            <li key={index}>
              <TextView text={item} />
            </li>
          ))}
        </ul>
      );
    case "table":
      return <TableView heads={block.heads} rows={block.rows} />;
    case "card":
      return <CardView card={block} />;
    case "details":
      return <DetailsView summary={block.summary} blocks={block.blocks} />;
    case "pre":
      return (
        <pre tabIndex={0} class="scroll">
          {block.marked
            ? block.lines.map((line, index) => (block.marked?.includes(index) ? <mark key={index}>{`${line}\n`}</mark> : `${line}\n`))
            : block.lines.join("\n")}
        </pre>
      );
    case "bars":
      return (
        <div class="bars">
          {block.bars.map((bar, index) => (
            <BarView key={index} bar={bar} hue={bar.seat ? place.hueOf(bar.seat) : null} />
          ))}
        </div>
      );
    case "shares":
      return <SharesView parts={block.parts} />;
    case "lines":
    case "columns":
      return <Chart block={block} />;
  }
}

export function Blocks({ blocks, entry = null }: { blocks: Block[]; entry?: number | null }) {
  return (
    <>
      {blocks.map((block, index) => (
        <BlockView key={index} block={block} entry={entry} />
      ))}
    </>
  );
}

/** Everything that blocks say, for searching. */
export function collectWords(blocks: Block[]): string {
  return blocks
    .map((block): string => {
      switch (block.kind) {
        case "heading":
          return block.text;
        case "line":
          return plainText(block.text);
        case "quote":
          return block.html.replace(/<[^>]*>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&#x27;/g, "'").replace(/&amp;/g, "&");
        case "fields":
          return block.rows.map(([name, value]) => `${name} ${plainText(value)}`).join(" ");
        case "bullets":
          return block.items.map(plainText).join(" ");
        case "table":
          return block.rows.map((row) => row.map(plainText).join(" ")).join(" ");
        case "card":
          return `${block.head.map(plainText).join(" ")} ${collectWords(block.blocks)}`;
        case "details":
          return `${block.summary} ${collectWords(block.blocks)}`;
        case "pre":
          return block.lines.join(" ");
        case "bars":
          return block.bars.map((bar) => `${bar.name} ${bar.text}`).join(" ");
        default:
          return "";
      }
    })
    .join(" ");
}

/** The numbers that blocks refer to. */
export function collectReferences(blocks: Block[]): number[] {
  const found: number[] = [];
  const take = (text: Text): void => {
    for (const span of text) {
      if (typeof span !== "object") continue;
      if ("ref" in span) found.push(...span.ref);
      if ("link" in span) found.push(span.link);
    }
  };
  for (const block of blocks) {
    if (block.kind === "line") take(block.text);
    else if (block.kind === "fields") block.rows.forEach(([, value]) => take(value));
    else if (block.kind === "bullets") block.items.forEach(take);
    else if (block.kind === "card") {
      block.head.forEach(take);
      found.push(...collectReferences(block.blocks));
    }
  }
  return found;
}

/** Every bar of a seat in these blocks, at any depth. */
export function collectBars(blocks: Block[], seat: string): Bar[] {
  return blocks.flatMap((block) => {
    if (block.kind === "bars") return block.bars.filter((bar) => bar.seat === seat);
    return block.kind === "card" || block.kind === "details" ? collectBars(block.blocks, seat) : [];
  });
}
