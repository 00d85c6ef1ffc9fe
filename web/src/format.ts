// Times, amounts and names for people.
import { signal } from "@preact/signals";
import { language, say } from "./language";

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

function getFormats(name: string): { ago: Intl.RelativeTimeFormat; exact: Intl.DateTimeFormat } {
  let found = formats.get(name);
  if (!found) {
    const exact = new Intl.DateTimeFormat(name === "zh" ? "zh-CN" : "en-GB", { dateStyle: "medium", timeStyle: "medium" });
    formats.set(name, (found = { ago: new Intl.RelativeTimeFormat(name, { numeric: "auto", style: "short" }), exact }));
  }
  return found;
}

export function formatAgo(at: string): string {
  const seconds = (Date.parse(at) - now.value) / 1000;
  if (Number.isNaN(seconds)) return at;
  const format = getFormats(language.value).ago;
  for (const [unit, size] of UNITS) if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
  return say("just now", "刚刚");
}

export function formatExact(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.valueOf())
    ? at
    : getFormats(language.value).exact.format(date);
}

export function formatCount(value: number): string {
  return value >= 10_000
    ? new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value)
    : new Intl.NumberFormat("en").format(value);
}

export function formatMoney(usd: number): string {
  return usd === 0 ? "$0" : usd < 0.01 ? "< $0.01" : `$${usd.toFixed(usd < 10 ? 2 : 0)}`;
}

export function formatSeconds(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return say(`${Math.round(seconds / 86_400)} days`, `${Math.round(seconds / 86_400)} 天`);
}

export function formatShare(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`;
}

export function formatRange(range: { least: number; most: number }, format: (value: number) => string): string {
  return range.least === range.most ? format(range.most) : `${format(range.least)} – ${format(range.most)}`;
}

export function shortenId(id: string): string {
  return id.length <= 22 ? id : `${id.slice(0, 10)}…${id.slice(-8)}`;
}

export function nameStrength(strength: string): string {
  switch (strength) {
    case "strong":
      return say("strong", "有力");
    case "fair":
      return say("fair", "尚可");
    case "weak":
      return say("weak", "薄弱");
    case "contested":
      return say("contested", "有争议");
    case "overruled":
      return say("overruled", "被否决多数");
    case "none":
    case "":
      return "";
    default:
      return strength;
  }
}

export function nameOutcome(outcome: string): string {
  switch (outcome) {
    case "success":
      return say("turned out well", "结果良好");
    case "partial":
      return say("partly", "部分实现");
    case "failure":
      return say("turned out badly", "结果不好");
    case "abandoned":
      return say("abandoned", "已放弃");
    default:
      return outcome;
  }
}
