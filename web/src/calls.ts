// Written by checks/page_build.py from the table of operations.
export interface ActionItem {
  who: string;
  text: string;
  due: string;
}
export interface AdviceResponse {
  entry: number;
  how: "adopted" | "partly" | "declined";
  why: string;
}
export interface Amplification {
  protocol: string;
  cases: number;
  partial: number;
  group: Share;
  compared: Share;
  members: Share;
  membersKnown: number;
  membersRight: number;
  membersUnknown: number;
  majority: Share;
  corrections: number;
  subversions: number;
  amplification?: number | null;
  casesBlank: number;
  membersBlank: number;
}
export interface Amplifications {
  protocols: Amplification[];
}
export interface Ask {
  ask: string;
  seat: string;
  kind: string;
  deadline?: string | null;
  form: "text" | "json";
  answerSchema: Record<string, unknown>;
  instructions: string;
  briefing: string;
}
export interface Asks {
  sessionId: string;
  status: "thinking" | "parked" | "ended";
  asks: Ask[];
  note: string;
}
export interface Breakers {
  breakers: CircuitView[];
  policy: Policy;
}
export interface Candidate {
  candidate: number;
  participant: string;
  choice: string;
  text: string;
}
export interface CandidateVote {
  candidate: number;
  position: "support" | "conditional_support" | "oppose" | "abstain";
  condition: string;
  confidence?: number | null;
  due: string;
}
export interface CategoryConfidence {
  category: string;
  minConfidence: number;
}
export interface CategoryTrust {
  category: string;
  cases: number;
  trust: number;
  accuracy: number;
  brier?: number | null;
}
export interface Choice {
  value: string;
  text: string;
}
export interface CircuitProbe {
  decisionId: string;
  deadline: string;
}
export interface CircuitView {
  scope: string;
  state: "closed" | "open" | "half_open";
  failures: number;
  threshold: number;
  openedAt?: string | null;
  halfOpenAt?: string | null;
  probe?: CircuitProbe | null;
  sources: number;
  leastSources: number;
}
export interface Command {
  word: string;
  text: string;
}
export interface Contribution {
  id: number;
  entry: number;
  at: string;
  participant: string;
  type: string;
  text: string;
  confidence?: number | null;
  choice: string;
  refersTo?: number | null;
  evidence: string[];
  answers: number[];
  accepts: number[];
  position?: "support" | "conditional_support" | "oppose" | "abstain" | null;
  condition: string;
  movedBy?: number | null;
  taken: AdviceResponse[];
  ballot: CandidateVote[];
  due: string;
  toUser: UserReply[];
  ownChoice: string;
  headline: string;
  actions: ActionItem[];
  who: string;
  number?: number | null;
  isCut: boolean;
  round: number;
  phase: string;
  via?: string | null;
  model?: string | null;
  mends?: string[] | null;
}
export interface DecisionHit {
  decisionId: string;
  score: number;
  snippet: string;
  marks: [number, number][];
  topic: string;
  decision?: string | null;
  choice: string;
  strength: string;
  badge: string;
  what: string;
  reservation: string;
  standIn: "" | "demo" | "embedded" | "script";
  outcome?: "success" | "partial" | "failure" | "abandoned" | null;
}
export interface Decision {
  decisionId: string;
  protocol: string;
  topic: string;
  category: string;
  stakes: string;
  tags: string[];
  thread: string;
  decision?: string | null;
  choice: string;
  strength: string;
  badge: string;
  what: string;
  reservation: string;
  confidence?: number | null;
  trackRecord?: TrackShare | null;
  consensusType: string;
  agreement: string;
  members: Member[];
  dissent: string[];
  openQuestions: string[];
  builtOn: string[];
  openedAt: string;
  closedAt: string;
  standIn: "" | "demo" | "embedded" | "script";
  outcome?: "success" | "partial" | "failure" | "abandoned" | null;
  reviews: OutcomeReview[];
  options: string[];
  obligations: RememberedObligation[];
  note: string;
}
export interface DecisionTrace {
  decisionId: string;
  protocol: string;
  topic: string;
  category: string;
  stakes: string;
  tags: string[];
  thread: string;
  decision?: string | null;
  choice: string;
  strength: string;
  badge: string;
  what: string;
  reservation: string;
  confidence?: number | null;
  trackRecord?: TrackShare | null;
  consensusType: string;
  agreement: string;
  members: Member[];
  dissent: string[];
  openQuestions: string[];
  builtOn: string[];
  openedAt: string;
  closedAt: string;
  standIn: "" | "demo" | "embedded" | "script";
  outcome?: "success" | "partial" | "failure" | "abandoned" | null;
  reviews: OutcomeReview[];
  options: string[];
  obligations: RememberedObligation[];
  note: string;
  contributions: Contribution[];
  more: boolean;
  candidates: Candidate[];
  motion?: number | null;
  tally: Tally[];
  participantVotes: Record<string, Vote>;
  changedMinds: Moved[];
  head: string;
  chain?: Lineage | null;
}
export interface Decisions {
  decisions: Decision[];
}
export interface Demo {
  name: string;
  protocol: string;
  title: string;
  summary: string;
  language: string;
}
export interface Demos {
  demos: Demo[];
}
export interface Export {
  sessionId: string;
  form: string;
  text: string;
}
export interface ForecastScores {
  cases: number;
  brier: number;
  logScore: number;
}
export interface Fork {
  sessionId: string;
}
export interface Frame {
  kind: "choice" | "yes_no" | "number" | "forecast" | "open";
  answers: string[];
  madeBy: "moot" | "opener" | "model";
  model: string;
  added: string[];
  unit: string;
  assumes: string;
  criteria: string[];
}
export interface Framed {
  frame?: Frame | null;
  asked: string;
  tokens: number;
  fault: string;
}
export interface Invite {
  tokenId: string;
  token: string;
  link: string;
  prompt: string;
  paste: Paste[];
}
export interface Items {
  sessionId: string;
  at: number;
  total: number;
  items: unknown[];
}
export interface Lineage {
  decisionId: string;
  builtOn: LinkedDecision[];
  basisOf: LinkedDecision[];
  failed: string[];
  standsOnFailure: boolean;
}
export interface LinkedDecision {
  decisionId: string;
  steps: number;
  isKnown: boolean;
  topic: string;
  decision?: string | null;
  outcome?: "success" | "partial" | "failure" | "abandoned" | null;
}
export interface Member {
  source: string;
  seat: string;
  family: string;
  firstChoice: string;
  firstConfidence?: number | null;
  position?: "support" | "conditional_support" | "oppose" | "abstain" | null;
  confidence?: number | null;
  isNeutral: boolean;
  quotations: number;
  quotationsHeld: number;
}
export interface MemoLine {
  slot: "result" | "body" | "sides" | "before" | "chance" | "caution" | "next" | "against" | "answer" | "missing" | "open";
  text: string;
  entries: number[];
}
export interface Memo {
  badge: string;
  what: string;
  result: string;
  lines: MemoLine[];
  reservations: Reservation[];
  next: NextStep[];
  text: string;
}
export interface Moved {
  participant: string;
  before: string;
  after?: string | null;
  movedBy?: number | null;
  movedAfter?: "evidence" | "words" | null;
}
export interface NextStep {
  kind: "condition" | "task" | "review";
  text: string;
  by: string;
  who: string;
  due: string;
  state: "open" | "met" | "waived" | "failed";
}
export interface NumberScores {
  cases: number;
  error: number;
  within: number;
}
export interface Obligations {
  obligations: RememberedObligation[];
}
export interface Opening {
  protocols: Protocol[];
  options: Option[];
  panels: Panel[];
  participants: Platform[];
}
export interface Option {
  name: string;
  type: string;
  default: unknown;
  help: string;
  choices: string[];
  refusedBy: Record<string, string>;
}
export interface OutcomeReview {
  at: string;
  outcome: "success" | "partial" | "failure" | "abandoned";
  choice: string;
  note: string;
  by: string;
}
export interface Panel {
  name: string;
  title: string;
  summary: string;
  seats: PanelSeat[];
}
export interface PanelSeat {
  id: string;
  stance: string;
}
export interface Paste {
  client: string;
  title: string;
  text: string;
}
export interface PersonAsk {
  ask: Ask;
  intro: string;
  about: string;
  steps: PersonStep[];
  commands: Command[];
  consults: string[];
}
export interface PersonAsks {
  sessionId: string;
  asks: PersonAsk[];
}
export interface PersonStep {
  key: string;
  text: string;
  kind: string;
  needed: boolean;
  long: boolean;
  default: string;
  choices: Choice[];
  onlyAfter?: [string, string[]] | null;
  group: string;
  numbers: number[];
  ifEmpty?: string | null;
}
export interface Plan {
  protocol: string;
  language: string;
  seats: PlannedSeat[];
  calls: Range;
  path: Range;
  tokens: Range;
  usd?: Range | null;
  notes: string[];
  files: PlannedFile[];
  frame?: Frame | null;
  framedBy: string;
}
export interface PlannedFile {
  name: string;
  size: number;
}
export interface PlannedSeat {
  id: string;
  stance: string;
  platform: string;
}
export interface Platform {
  platform: string;
  title: string;
  found: boolean;
  note: string;
}
export interface PlayedDemo {
  sessionId: string;
  demo: string;
  language: string;
  status: "playing";
}
export interface Policy {
  failures: number;
  windowSeconds: number;
  cooldownSeconds: number;
  probeSeconds: number;
  deliberateStakes: ("low" | "medium" | "high" | "critical")[];
  minConfidence: number;
  deliberateCategories: string[];
  categoryConfidence: CategoryConfidence[];
  scopeSources: number;
  stakesSources: number;
  globalSources: number;
}
export interface Protocol {
  name: string;
  title: string;
  summary: string;
  settings: Setting[];
}
export interface Range {
  least: number;
  most: number;
}
export interface ReliabilityBin {
  low: number;
  high: number;
  cases: number;
  right: number;
  said: number;
}
export interface ReliabilityGroup {
  protocol: string;
  agreement: string;
  family: string;
  cases: number;
  right: number;
  said?: number | null;
  brier?: number | null;
  bins: ReliabilityBin[];
}
export interface Reliability {
  groups: ReliabilityGroup[];
  bins: ReliabilityBin[];
  forecasts?: ForecastScores | null;
  numbers?: NumberScores | null;
}
export interface RememberedObligation {
  decisionId: string;
  number: number;
  by: string;
  text: string;
  due: string;
  state: "open" | "met" | "waived" | "failed";
  note: string;
  settledBy: string;
  settledAt?: string | null;
  topic: string;
}
export interface Reservation {
  code: "voice_missing" | "you_unanswered" | "quotation" | "objection_open" | "most_against" | "smaller_side" | "narrow" | "tie_broken" | "began_elsewhere" | "left_open" | "few_sides" | "one_voice" | "one_model" | "after_talking" | "unsure";
  text: string;
  short: string;
}
export interface Search {
  decisions: DecisionHit[];
  threads: ThreadHit[];
  sources: SourceTrust[];
  deliberations: SessionLine[];
}
export interface SessionDecision {
  sessionId: string;
  topic: string;
  status: "thinking" | "parked" | "concluded" | "cancelled";
  parked: string;
  decision?: string | null;
  confidence?: number | null;
  choice: string;
  strength: "strong" | "fair" | "weak" | "disputed" | "overruled" | "none";
  cursor: number;
  waitingFor: string[];
  memo: Memo;
  [more: string]: unknown;
}
export interface SessionLine {
  sessionId: string;
  protocol: string;
  topic: string;
  status: "thinking" | "parked" | "concluded" | "cancelled" | "damaged" | "newer" | "not_installed";
  openedAt: string;
  lastAt: string;
  entries: number;
  isHosted: boolean;
  isDemo: boolean;
  standIn: "" | "demo" | "embedded" | "script";
  forkedFrom: string;
  parked: string;
  standing: "decided" | "undecided" | "parked" | "waiting" | "running" | "stopped" | "cancelled" | "damaged" | "newer" | "not_installed";
  choice: string;
  leading: string;
  strength: string;
  badge: string;
  what: string;
  reservation: string;
  isImported: boolean;
  tags: string[];
  isAway: boolean;
  said: string;
  saidMarks: [number, number][];
  saidEntry?: number | null;
}
export interface Sessions {
  sessions: SessionLine[];
  total: number;
}
export interface Setting {
  name: string;
  type: string;
  default: unknown;
  help: string;
  choices: string[];
}
export interface Share {
  right: number;
  of: number;
}
export interface Share {
  tokenId: string;
  link: string;
}
export interface SourceTrust {
  source: string;
  category: string;
  cases: number;
  brier?: number | null;
  trust: number;
  accuracy: number;
  categories: CategoryTrust[];
  quotations: number;
  quotationsHeld: number;
}
export interface Sources {
  sources: SourceTrust[];
}
export interface Tally {
  candidate: number;
  support: number;
  unconditional: number;
  oppose: number;
  confidence?: number | null;
}
export interface Text {
  sessionId: string;
  entry: number;
  text: string;
  html: string;
}
export interface ThreadHit {
  thread: string;
  title: string;
  status: "active" | "paused" | "completed" | "blocked";
  decisions: number;
  openQuestions: string[];
}
export interface Token {
  id: string;
  role: "owner" | "observer" | "seat" | "agent" | "operator" | "recorder";
  sessionId: string;
  seat: string;
  note: string;
  issuedAt: string;
  expires: string;
  revokedAt?: string | null;
  family: string;
}
export interface Tokens {
  tokens: Token[];
}
export interface TrackShare {
  cases: number;
  right: number;
}
export interface TrustCase {
  decisionId: string;
  topic: string;
  at: string;
  category: string;
  outcome: string;
  position?: string | null;
  confidence?: number | null;
  right?: number | null;
  brier?: number | null;
  trust: number;
}
export interface TrustHistory {
  source: string;
  cases: TrustCase[];
}
export interface UserReply {
  input: number;
  text: string;
}
export interface View {
  sessionId: string;
  head: number;
  at: number;
  timeline: Record<string, unknown>;
  may: string[];
  [more: string]: unknown;
}
export interface Vote {
  position: string;
  confidence?: number | null;
  condition: string;
  due: string;
  movedBy?: number | null;
  weight: number;
  via?: string | null;
  model?: string | null;
}
export interface Written {
  sessionId: string;
  entry?: number | null;
}
/** What each call answers. */
export interface Results {
  "cstp.getAmplificationStats": Amplifications;
  "cstp.getDecision": DecisionTrace;
  "cstp.getReliability": Reliability;
  "cstp.getSourceTrust": SourceTrust;
  "cstp.listBreakers": Breakers;
  "cstp.listDecisions": Decisions;
  "cstp.listObligations": Obligations;
  "cstp.listSources": Sources;
  "cstp.resetCircuit": CircuitView;
  "cstp.reviewDecision": Decision;
  "cstp.searchDecisions": Search;
  "cstp.settleObligation": RememberedObligation;
  "moot.answerAsPerson": Written;
  "moot.cancelSession": Written;
  "moot.closeSession": Written;
  "moot.exportSession": Export;
  "moot.forkSession": Fork;
  "moot.frameQuestion": Framed;
  "moot.getAsks": Asks;
  "moot.getItems": Items;
  "moot.getOpening": Opening;
  "moot.getPersonAsks": PersonAsks;
  "moot.getText": Text;
  "moot.getTrustHistory": TrustHistory;
  "moot.getView": View;
  "moot.giveInput": Written;
  "moot.inviteSeat": Invite;
  "moot.labelSession": SessionLine;
  "moot.listDemos": Demos;
  "moot.listSessions": Sessions;
  "moot.listTokens": Tokens;
  "moot.openSession": SessionDecision;
  "moot.planSession": Plan;
  "moot.playDemo": PlayedDemo;
  "moot.resumeSession": SessionDecision;
  "moot.revokeToken": Tokens;
  "moot.shareSession": Share;
}
