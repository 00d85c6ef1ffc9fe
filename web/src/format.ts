// Times, amounts and names for people.
import { signal } from "@preact/signals";
import { fill, findCounted, findTerm, getTag, language, say, type Counted, type Table } from "./language";

/** Ticks twice a minute, so that "2 min ago" grows old. */
export const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 30_000);

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Making one takes longer than using it a hundred times. */
const formats = new Map<string, { ago: Intl.RelativeTimeFormat; exact: Intl.DateTimeFormat }>();

function getFormats(): { ago: Intl.RelativeTimeFormat; exact: Intl.DateTimeFormat } {
  const name = language.value;
  let found = formats.get(name);
  if (!found) {
    const exact = new Intl.DateTimeFormat(getTag(), { dateStyle: "medium", timeStyle: "medium" });
    formats.set(name, (found = { ago: new Intl.RelativeTimeFormat(name, { numeric: "auto", style: "short" }), exact }));
  }
  return found;
}

export function formatAgo(at: string): string {
  const seconds = (Date.parse(at) - now.value) / 1000;
  if (Number.isNaN(seconds)) return at;
  const format = getFormats().ago;
  for (const [unit, size] of UNITS) if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
  return say("just_now");
}

export function formatExact(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.valueOf())
    ? at
    : getFormats().exact.format(date);
}

export function formatCount(value: number): string {
  return value >= 10_000
    ? new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value)
    : new Intl.NumberFormat("en").format(value);
}

export function formatSize(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function formatMoney(usd: number): string {
  return usd === 0 ? "$0" : usd < 0.01 ? "< $0.01" : `$${usd.toFixed(usd < 10 ? 2 : 0)}`;
}

export function formatSeconds(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return say("count_days", { count: Math.round(seconds / 86_400) });
}

export function formatShare(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`;
}

export function formatRange(range: { least: number; most: number }, format: (value: number) => string): string {
  return range.least === range.most ? format(range.most) : `${format(range.least)} – ${format(range.most)}`;
}

/** The beginning of a text, in one line. */
export function shortenText(text: string, most: number): string {
  const signs = [...text.replace(/\s+/g, " ").trim()];
  return signs.length <= most ? signs.join("") : `${signs.slice(0, most - 1).join("")}…`;
}

export function shortenId(id: string): string {
  return id.length <= 22 ? id : `${id.slice(0, 10)}…${id.slice(-8)}`;
}

/** A code word of a record in the reader's language; what the catalogues lack is shown without its underscores. */
export function nameTerm(table: Table, code: string | null | undefined): string {
  const word = code ?? "";
  return findTerm(table, word) ?? word.replaceAll("_", " ");
}

/** What was decided; a verdict, which is a code that gates name, with its word. */
export function nameChoice(protocol: string, choice: string): string {
  if (protocol !== "review" || !choice) return choice;
  return say(choice === "approve" ? "verdict_approve" : "verdict_request_changes");
}

/** How many of something: "1 call", "2 calls". */
export function countThings(things: Counted, count: number): string {
  return fill(findCounted(things, count === 1), { count: formatCount(count) });
}
