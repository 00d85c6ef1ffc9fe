// What the server sends, as docs/web-api.md describes it.

export type Tone = "plain" | "strong" | "dim" | "bad" | "warn" | "good";
export type Span = string | { ref: number[]; text: string } | { strong: string } | { muted: string } | { mark: string; tone: Tone };
export type Text = Span[];

export interface Bar {
  name: string;
  value: number;
  text: string;
  tone: Tone;
  seat?: string | null;
}
export interface Series {
  name: string;
  values: (number | null)[];
}
export type ChartBlock =
  | { kind: "lines"; label: string; labels: string[]; series: Series[]; bounds: number[] }
  | { kind: "columns"; label: string; labels: string[]; series: Series[] };
export interface CardBlock {
  kind: "card";
  head: Text[];
  entry?: number | null;
  seat?: string | null;
  look: "plain" | "decision" | "turn";
  blocks: Block[];
}
export type Block =
  | { kind: "heading"; text: string; level: number }
  | { kind: "line"; text: Text; tone: Tone }
  | { kind: "quote"; html: string; tone: Tone; cut?: boolean }
  | { kind: "fields"; rows: [string, Text][] }
  | { kind: "bullets"; items: Text[]; tone: Tone }
  | { kind: "table"; heads: string[]; rows: Text[][] }
  | CardBlock
  | { kind: "details"; summary: string; blocks: Block[] }
  | { kind: "pre"; lines: string[] }
  | { kind: "bars"; bars: Bar[] }
  | { kind: "shares"; parts: Bar[] }
  | ChartBlock;

export interface Item {
  seq: number;
  at: string | null;
  blocks: Block[];
  seat?: string | null;
  entry?: number | null;
}
export interface Phase {
  name: string;
  state: "done" | "now" | "ahead";
}
/** Items with their places, of so many in all. */
export interface TimelinePart {
  total: number;
  items: [number, Item][];
}
export type SeatState = "listening" | "asked" | "writing" | "held_up" | "silent" | "lost" | "done";
export interface Seat {
  id: string;
  stance: string;
  platform: string;
  kind: string;
  family: string;
  weight: number;
  hue: number;
  state: SeatState;
  why: string;
}
export interface Waiting {
  ask: string;
  seat: string;
  kind: string;
  what: string;
  since: string | null;
  deadline: string | null;
  mine: boolean;
  outside?: boolean;
}
export interface Lens {
  id: string;
  title: string;
  blocks: Block[];
}
export interface Figure {
  name: string;
  value: string;
  how: Block[];
}
export interface Budget {
  calls: number;
  tokens: number;
  usd: number | null;
  seconds: number;
  turns: number;
  limits: Record<string, number | null>;
}
export interface Obligation {
  decisionId: string;
  number: number;
  by: string;
  text: string;
  due: string;
  state: string;
  note: string;
  settledBy?: string;
  /** The question that was decided; only where obligations of many decisions are listed. */
  topic?: string;
}
export type Standing =
  "decided" | "undecided" | "parked" | "waiting" | "running" | "stopped" | "cancelled" | "damaged" | "not_installed";
/** The code of a language, such as "en". */
export type Language = string;

export interface View {
  sessionId: string;
  protocol: string;
  language: Language;
  topic: string;
  status: "thinking" | "parked" | "concluded" | "cancelled";
  standing: Standing;
  parked: string;
  choice: string;
  strength: string;
  head: number;
  at: number;
  openedAt: string;
  lastAt: string;
  forkedFrom?: { session?: string; sessionId?: string; at?: number } | string | null;
  seats: Seat[];
  phases: Phase[];
  waiting: Waiting[];
  timeline: TimelinePart;
  decision: Block[];
  lenses: Lens[];
  numbers: Figure[];
  budget: Budget;
  settings: Record<string, unknown>;
  options: string[];
  context: { name: string; size: number }[];
  obligations: Obligation[];
  outcome: string | null;
  sealed: boolean;
  may: string[];
}
export type ViewChange = Partial<Omit<View, "sessionId">> & { sessionId: string; seq: number };

export interface SessionLine {
  sessionId: string;
  protocol: string;
  topic: string;
  status: string;
  parked: string;
  openedAt: string;
  lastAt: string;
  entries: number;
  standing: Standing;
  choice: string;
  strength: string;
  isDemo?: boolean;
}

export interface Demo {
  name: string;
  title: string;
  summary: string;
  language: Language;
}

export interface PersonStep {
  key: string;
  text: string;
  kind: "text" | "option" | "position" | "number" | "numbers" | "reference" | "confidence";
  needed: boolean;
  long: boolean;
  default: string;
  choices: { value: string; text: string }[];
  onlyAfter?: [string, string[]] | null;
  group: string;
  numbers?: number[];
}
export interface PersonAsk {
  ask: Ask;
  intro: string;
  about: string;
  steps: PersonStep[];
  commands: { word: string; text: string }[];
}
export interface Ask {
  ask: string;
  seat: string;
  kind: string;
  deadline: string | null;
  instructions: string;
  briefing: string;
}

export interface Me {
  may: ("read" | "speak" | "decide" | "run" | "own")[];
  isInvited: boolean;
  seat: string;
  session: string;
  name: string;
  language?: Language;
}

export interface Setting {
  name: string;
  type: string;
  default?: unknown;
  help: string;
  choices?: string[];
}
export interface Option extends Setting {
  refusedBy?: Record<string, string>;
}
export interface Opening {
  options: Option[];
  protocols: { name: string; title: string; summary: string; settings: Setting[] }[];
  panels: { name: string; title: string; summary?: string; seats: (string | { id: string; stance?: string })[] }[];
  participants: { platform: string; title: string; found: boolean; note: string }[];
}
interface Range {
  least: number;
  most: number;
}
export interface SessionPlan {
  seats: { id: string; platform: string; stance: string }[];
  calls: Range;
  tokens: Range;
  usd: Range | null;
  notes: string[];
}

export interface Review {
  at: string;
  outcome: string;
  choice: string;
  note: string;
  by: string;
}
export interface PastDecision {
  decisionId: string;
  protocol: string;
  topic: string;
  category: string;
  stakes: string;
  tags: string[];
  decision: string | null;
  choice: string;
  strength: string;
  confidence: number | null;
  consensusType: string;
  members: {
    source: string;
    seat: string;
    family: string;
    firstChoice: string;
    firstConfidence: number | null;
    position: string | null;
    confidence: number | null;
  }[];
  dissent: string[];
  openQuestions: string[];
  builtOn: string[];
  openedAt: string;
  closedAt: string;
  outcome: string | null;
  reviews: Review[];
  options: string[];
  obligations: Obligation[];
}
export interface DecisionTrace extends PastDecision {
  contributions: {
    id: number;
    at: string;
    participant: string;
    type: string;
    text: string;
    confidence: number | null;
    choice: string;
    refersTo: number | null;
    position: string | null;
    condition: string;
    phase: string;
  }[];
  more: boolean;
  changedMinds: { participant: string; before: string; after: string | null; movedBy: number | null }[];
}
export interface FoundDecision {
  decisionId: string;
  snippet: string;
  topic: string;
  decision: string | null;
  strength: string;
  outcome: string | null;
}
export interface TrustCase {
  decisionId: string;
  topic: string;
  at: string;
  category: string;
  outcome: string;
  position?: string;
  confidence?: number;
  right?: number;
  trust: number;
}
export interface Trust {
  source: string;
  category: string;
  trust: number;
  accuracy: number;
  cases: number;
  brier: number | null;
  categories: { category: string; cases: number; brier: number | null; trust: number; accuracy: number }[];
}
interface Share {
  right: number;
  of: number;
}
export interface Amplification {
  protocol: string;
  cases: number;
  partial: number;
  group: Share;
  compared: Share;
  members: Share;
  majority: Share;
  corrections: number;
  subversions: number;
  amplification: number | null;
  casesBlank: number;
  membersKnown: number;
  membersUnknown: number;
  membersBlank: number;
}
export interface Circuit {
  scope: string;
  state: "closed" | "open" | "half_open";
  failures: number;
  threshold: number;
  openedAt: string | null;
  halfOpenAt: string | null;
  probe: { decisionId: string; deadline: string } | null;
  sources: number;
  leastSources: number;
}
export interface Policy {
  failures: number;
  windowSeconds: number;
  cooldownSeconds: number;
  probeSeconds: number;
  deliberateStakes: string[];
  minConfidence: number;
  deliberateCategories: string[];
  categoryConfidence: { category: string; minConfidence: number }[];
}
