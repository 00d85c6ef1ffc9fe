// What was decided: search, and the whole trace of one decision from its question to its outcome.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatShare, nameTerm, shortenText, countThings } from "../format";
import { useKeys } from "../keys";
import { say } from "../language";
import { Action, Ago, CopyId, Loading, Marked, Notice, ResultBadge, Table, useLoad } from "../parts";
import { buildPath, route, setQuery } from "../route";
import { call, FormKeys, mayDo } from "../rpc";
import { Header } from "../shell";
import { setTitle } from "../turns";
import type { Answers, DecisionTrace, Obligation } from "../wire";
import { ObligationLine } from "./obligations";

export function OutcomeMark({ outcome }: { outcome: string | null | undefined }) {
  if (!outcome) return null;
  const tone = outcome === "success" ? "good" : outcome === "failure" ? "bad" : "warn";
  const sign = { good: "▲", warn: "◆", bad: "▼" }[tone];
  return (
    <span class={`tag ${tone}`}>
      <i class={`sign ${tone}`} aria-hidden="true">
        {sign}
      </i>
      {nameTerm("outcomes", outcome)}
    </span>
  );
}

export function Decisions() {
  const query = route.value.query.get("q") ?? "";
  const filter = route.value.query.get("outcome") ?? "";
  const [asked, setAsked] = useState(query);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(query), 200);
    return () => clearTimeout(timer);
  }, [query]);
  useKeys((key) => {
    if (key !== "/") return "ignored";
    input.current?.focus();
    return "text";
  });
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("decisions")}</h1>
        <div class="bar-top">
          <input
            ref={input}
            type="search"
            class="search"
            value={query}
            aria-label={say("search_decisions")}
            placeholder={say("search_by_words_or_meaning")}
            onInput={(event) => setQuery({ q: event.currentTarget.value || null }, { replace: true })}
          />
          <select aria-label={say("outcome")} value={filter} onChange={(event) => setQuery({ outcome: event.currentTarget.value || null }, { replace: true })}>
            <option value="">{say("every_outcome")}</option>
            <option value="unreviewed">{say("not_reviewed_yet")}</option>
            <option value="success">{nameTerm("outcomes", "success")}</option>
            <option value="partial">{nameTerm("outcomes", "partial")}</option>
            <option value="failure">{nameTerm("outcomes", "failure")}</option>
            <option value="abandoned">{nameTerm("outcomes", "abandoned")}</option>
          </select>
        </div>
        {asked ? <FoundList query={asked} outcome={filter} /> : <DecisionList outcome={filter} />}
      </main>
    </>
  );
}

function FoundList({ query, outcome }: { query: string; outcome: string }) {
  const { value, error } = useLoad(() => call("cstp.searchDecisions", { query, within: "decisions", limit: 30 }), query);
  if (error) return <Notice tone="bad">{error}</Notice>;
  if (value === null) return <Loading />;
  const shown = value.decisions.filter((each) => !outcome || (each.outcome || "unreviewed") === outcome);
  if (shown.length === 0) return <p class="soft">{say("nothing_was_decided_about_that")}</p>;
  return (
    <ul class="lines">
      {shown.map((each) => (
        <li key={each.decisionId}>
          <a class="session-line" data-in href={buildPath("decisions", each.decisionId)}>
            <span class="line-topic">{each.topic}</span>
            <span class="line-facts">
              <ResultBadge line={each} /> <span class="cut" dir="auto">{each.what || each.decision}</span> <OutcomeMark outcome={each.outcome} />
            </span>
            {each.snippet && (
              <span class="line-facts soft">
                <span class="cut" dir="auto">
                  <Marked text={each.snippet} marks={each.marks} />
                </span>
              </span>
            )}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** How many decisions are listed at first, and with each wish for older ones. */
const PAGE = 200;

type Listed = Answers["cstp.listDecisions"]["decisions"];

async function loadDecisions(outcome: string, most: number): Promise<Listed> {
  const found: Listed = [];
  while (found.length < most) {
    const before = found.at(-1)?.decisionId;
    const { decisions } = await call("cstp.listDecisions", { limit: PAGE, ...(before && { before }), ...(outcome && { outcome }) });
    found.push(...decisions);
    if (decisions.length < PAGE) break;
  }
  return found;
}

function DecisionList({ outcome }: { outcome: string }) {
  const [most, setMost] = useState(PAGE);
  const { value, error } = useLoad(() => loadDecisions(outcome, most), `list ${outcome}`, String(most));
  if (error) return <Notice tone="bad">{error}</Notice>;
  if (value === null) return <Loading />;
  if (value.length === 0) {
    return (
      <p class="soft">
        {outcome
          ? say("no_decision_has_that_outcome")
          : say("nothing_was_decided_yet_decisions_appear")}
      </p>
    );
  }
  return (
    <>
      <ul class="lines">
        {value.map((each) => (
          <li key={each.decisionId}>
            <a class="session-line" data-in href={buildPath("decisions", each.decisionId)}>
              <span class="line-topic">{each.topic}</span>
              <span class="line-facts">
                <ResultBadge line={each} /> <span class="cut" dir="auto">{each.what || each.decision}</span>
                <OutcomeMark outcome={each.outcome} />
                {each.obligations.some((one) => one.state === "open") && <span class="tag warn">◆ {say("obligations_open")}</span>}
                <span class="soft">
                  {nameTerm("protocols", each.protocol)} · <Ago at={each.closedAt} />
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {value.length >= most && (
        <button class="quiet" onClick={() => setMost(most + PAGE)}>
          {say("load_older_decisions")}
        </button>
      )}
    </>
  );
}

export function DecisionView({ id }: { id: string }) {
  const { value, error, again } = useLoad(() => call("cstp.getDecision", { decisionId: id }), id);
  useEffect(() => {
    if (value) setTitle(`${shortenText(value.topic, 80)} · Moot`);
  }, [value]);
  return (
    <>
      <Header />
      <main class="page two">
        {error && <Notice tone="bad" action={<a data-in href="/decisions">{say("all_decisions")}</a>}>{error}</Notice>}
        {value === null ? (
          !error && <Loading />
        ) : (
          <>
            <article class="trace">
              <p class="soft">
                {say("the_question")} · <Ago at={value.openedAt} />
              </p>
              <h1>{value.topic}</h1>
              <ol class="steps-list">
                {value.options.length > 0 && (
                  <li>
                    <h2>{say("options")}</h2>
                    <p>{value.options.join(" / ")}</p>
                  </li>
                )}
                <li>
                  <h2>{say("who_took_part")}</h2>
                  <Members trace={value} />
                </li>
                {value.contributions.length > 0 && (
                  <li>
                    <h2>{say("what_was_said")}</h2>
                    <details class="fold">
                      <summary>{say("contributions_contributions", { contributions: value.contributions.length })}</summary>
                      <ul class="said">
                        {value.contributions.map((each) => (
                          <li key={each.id}>
                            <a data-in href={`${buildPath("s", id)}?entry=${each.id}`}>
                              #{each.id}
                            </a>{" "}
                            <b>{each.participant}</b> <span class="soft">{nameTerm("types", each.type)}</span>
                            <p dir="auto">{each.text}</p>
                          </li>
                        ))}
                      </ul>
                    </details>
                  </li>
                )}
                <li>
                  <h2>{say("the_decision")}</h2>
                  <p class="choice">
                    {value.what || value.decision || say("there_was_no_decision")} <ResultBadge line={value} />
                  </p>
                  {value.choice && value.decision && value.decision !== value.choice && <p dir="auto" class="decision-text">{value.decision}</p>}
                  <p class="soft">
                    {[nameTerm("consensus_types", value.consensusType), value.confidence == null ? "" : say("confidence_confidence", { confidence: formatShare(value.confidence) })].filter(Boolean).join(" · ")}
                    {" · "}
                    <Ago at={value.closedAt} />
                  </p>
                  {value.dissent.length > 0 && (
                    <>
                      <h3>{say("dissent")}</h3>
                      <ul class="bullets">
                        {value.dissent.map((each, index) => (
                          <li key={index} dir="auto">
                            {each}
                          </li>
                        ))}
                      </ul>
                    </>
                  )}
                  {value.openQuestions.length > 0 && (
                    <>
                      <h3>{say("open_questions")}</h3>
                      <ul class="bullets">
                        {value.openQuestions.map((each, index) => (
                          <li key={index} dir="auto">
                            {each}
                          </li>
                        ))}
                      </ul>
                    </>
                  )}
                </li>
                {value.obligations.length > 0 && (
                  <li>
                    <h2>{say("obligations")}</h2>
                    {value.obligations.map((each) => (
                      <ObligationLine key={each.number} obligation={each} mayRead={false} maySettle={mayDo("run")} onSettled={again} />
                    ))}
                  </li>
                )}
                <li>
                  <h2>{say("how_it_turned_out")}</h2>
                  {value.reviews.length === 0 && <p class="soft">{say("nobody_has_said_yet")}</p>}
                  {value.reviews.map((each, index) => (
                    <p key={index}>
                      <OutcomeMark outcome={each.outcome} /> {each.choice && <span>{say("right_was")}{each.choice}</span>} {each.note}{" "}
                      <span class="soft">
                        {each.by} · <Ago at={each.at} />
                      </span>
                    </p>
                  ))}
                  {mayDo("own") && <ReviewForm trace={value} onDone={again} />}
                </li>
              </ol>
            </article>
            <aside class="estimate">
              <h2>{say("record")}</h2>
              <dl>
                <div>
                  <dt>{say("id")}</dt>
                  <dd>
                    <CopyId id={value.decisionId} />
                  </dd>
                </div>
                <div>
                  <dt>{say("protocol")}</dt>
                  <dd>{nameTerm("protocols", value.protocol)}</dd>
                </div>
                <div>
                  <dt>{say("stakes")}</dt>
                  <dd>{nameTerm("stakes_levels", value.stakes)}</dd>
                </div>
                {value.category && (
                  <div>
                    <dt>{say("category")}</dt>
                    <dd>{value.category}</dd>
                  </div>
                )}
              </dl>
              <ObligationNotices obligations={value.obligations} isSuccess={value.outcome === "success"} />
              <p>
                <a data-in href={buildPath("s", value.decisionId)}>
                  {say("open_the_meeting")}
                </a>
              </p>
              {value.builtOn.length > 0 && (
                <>
                  <h3>{say("builds_on")}</h3>
                  <ul class="bullets">
                    {value.builtOn.map((each) => (
                      <li key={each}>
                        <a data-in href={buildPath("decisions", each)}>
                          {each}
                        </a>
                      </li>
                    ))}
                  </ul>
                </>
              )}
            </aside>
          </>
        )}
      </main>
    </>
  );
}

/** What whoever judges the decision must know of its conditions. */
function ObligationNotices({ obligations, isSuccess }: { obligations: Obligation[]; isSuccess: boolean }) {
  const count = (state: string): number => obligations.filter((each) => each.state === state).length;
  const [open, failed] = [count("open"), count("failed")];
  return (
    <>
      {open > 0 && (
        <Notice tone="warn">
          {say("open_obligations_was_each_met_waived", { open_obligations: countThings("open_obligations", open) })}
        </Notice>
      )}
      {failed > 0 && isSuccess && (
        <Notice tone="warn">
          {say("it_is_said_to_have_turned", { failed })}
        </Notice>
      )}
    </>
  );
}

function Sureness({ words, confidence }: { words: string | null | undefined; confidence: number | null | undefined }) {
  return (
    <>
      {words || "–"} {confidence != null && <span class="soft">{formatShare(confidence)}</span>}
    </>
  );
}

function Members({ trace }: { trace: DecisionTrace }) {
  if (trace.members.length === 0) return <p class="soft">{say("not_recorded")}</p>;
  const moved = new Map(trace.changedMinds.map((each) => [each.participant, each]));
  return (
    <Table
      heads={[say("seat"), say("at_first"), say("in_the_end"), say("changed_by")]}
      wide={[1]}
      rows={trace.members.map((each) => [
        <a data-in href={buildPath("trust", each.source)}>
          {each.seat}
        </a>,
        <Sureness words={each.firstChoice} confidence={each.firstConfidence} />,
        <Sureness words={nameTerm("verdicts", each.position)} confidence={each.confidence} />,
        moved.get(each.seat)?.movedBy ? `#${moved.get(each.seat)?.movedBy}` : "–",
      ])}
    />
  );
}

/** Two clicks: how it turned out, and send. */
function ReviewForm({ trace, onDone }: { trace: DecisionTrace; onDone: () => Promise<void> }) {
  const [outcome, setOutcome] = useState("");
  const [note, setNote] = useState("");
  const [choice, setChoice] = useState("");
  const keys = useMemo(() => new FormKeys(), []);
  const outcomes = ["success", "partial", "failure", "abandoned"];
  return (
    <form class="form review" onSubmit={(event) => event.preventDefault()}>
      <div class="row radios" role="radiogroup" aria-label={say("how_did_it_turn_out")}>
        {outcomes.map((each) => (
          <label key={each}>
            <input type="radio" name="outcome" checked={outcome === each} onChange={() => setOutcome(each)} />
            {nameTerm("outcomes", each)}
          </label>
        ))}
      </div>
      {outcome && (
        <>
          {trace.options.length > 0 && outcome !== "success" && (
            <label>
              {say("what_would_have_been_right_if")}
              <select value={choice} onChange={(event) => setChoice(event.currentTarget.value)}>
                <option value="">–</option>
                {trace.options.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </label>
          )}
          <label>
            {say("note_optional")}
            <input type="text" maxLength={4000} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
          </label>
          <div class="row">
            <Action
              class="main"
              type="submit"
              do={async () => {
                // A choice whose field is no longer shown does not count.
                const review = { decisionId: trace.decisionId, outcome, ...(choice && outcome !== "success" ? { choice } : {}), ...(note ? { note } : {}) };
                await call("cstp.reviewDecision", { ...review, idempotencyKey: keys.find(review) });
                keys.forget();
                setOutcome("");
                setNote("");
                setChoice("");
                await onDone();
              }}
            >
              {say("record_the_outcome")}
            </Action>
          </div>
        </>
      )}
    </form>
  );
}
