// The view of a session, as docs/web-api.md describes it; what other calls answer stands in calls.ts.
import type { Memo, RememberedObligation as Obligation, Results, SessionLine } from "./calls";

export type {
  Amplification,
  CircuitView as Circuit,
  DecisionTrace,
  Invite as Invitation,
  Opening,
  Option,
  PersonAsk,
  PersonStep,
  Plan as SessionPlan,
  Reliability,
  RememberedObligation as Obligation,
  SessionLine,
  Setting,
  TrustCase,
  Ask,
} from "./calls";

export type Tone = "plain" | "strong" | "dim" | "bad" | "warn" | "good";
export type Span = string | { ref: number[]; text: string } | { link: number; words: string } | { strong: string } | { muted: string } | { mark: string; tone: Tone };
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
  | { kind: "pre"; lines: string[]; marked?: number[] }
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
export type Standing = SessionLine["standing"];
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
  memo: Memo;
  head: number;
  at: number;
  openedAt: string;
  lastAt: string;
  forkedFrom?: { sessionId: string; at: number } | null;
  imported?: { at: string; source: string } | null;
  /** The words of a demo were written in advance. */
  demo?: boolean;
  seats: Seat[];
  phases: Phase[];
  waiting: Waiting[];
  timeline: TimelinePart;
  /** The memo; what was argued stands below it. */
  decisionBlocks: Block[];
  argumentBlocks: Block[];
  lenses: Lens[];
  numbers: Figure[];
  budget: Budget;
  settings: Record<string, unknown>;
  options: string[];
  context: { name: string; size: number; sha256: string }[];
  obligations: Obligation[];
  outcome: string | null;
  sealed: boolean;
  may: string[];
}
export type ViewChange = Partial<Omit<View, "sessionId">> & { sessionId: string; seq: number };

export interface Me {
  may: ("read" | "speak" | "decide" | "run" | "own")[];
  isInvited: boolean;
  seat: string;
  session: string;
  name: string;
  role: string;
  tokenId: string;
  /** The meetings to which this browser was invited one by one. */
  grants: { session: string; seat: string; role: string }[];
  /** What a token of this role may ask of the server. */
  limits?: { callsPerSecond: number; burst: number; largestBody: number; atOnce: number };
  language?: Language;
}

/** What a login would do to what this browser may do already. */
export interface LoginConflict {
  kind: "replaces" | "over_seats" | "beside" | "other_seat" | "weaker" | "full";
  mayGoOn: boolean;
  session: string;
  seat: string;
  role: string;
  heldSeat: string;
  heldRole: string;
}

/** What each call answers; a view and its parts are built of blocks, which no schema lists. */
export interface Answers extends Omit<Results, "moot.getView" | "moot.getItems"> {
  "moot.getView": View;
  "moot.getItems": TimelinePart;
}
