// What was decided: search, and the whole trace of one decision from its question to its outcome.
import { useEffect, useRef, useState } from "preact/hooks";
import { formatShare, nameOutcome, nameWord, shortenText } from "../format";
import { useKeys } from "../keys";
import { say } from "../language";
import { Action, Ago, CopyId, Loading, Notice, Strength, Table, useLoad } from "../parts";
import { buildPath, route, setQuery } from "../route";
import { call, mayDo, newKey } from "../rpc";
import { Header } from "../shell";
import type { DecisionTrace, FoundDecision, Obligation, PastDecision } from "../wire";
import { ObligationLine } from "./obligations";

export function OutcomeMark({ outcome }: { outcome: string | null }) {
  if (!outcome) return null;
  const tone = outcome === "success" ? "good" : outcome === "failure" ? "bad" : "warn";
  const sign = { good: "▲", warn: "◆", bad: "▼" }[tone];
  return (
    <span class={`tag ${tone}`}>
      <i class={`sign ${tone}`} aria-hidden="true">
        {sign}
      </i>
      {nameOutcome(outcome)}
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
  useEffect(() => {
    document.title = `${say("Decisions", "决定")} · Moot`;
  }, []);
  useKeys((key) => {
    if (key !== "/") return "ignored";
    input.current?.focus();
    return "text";
  });
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("Decisions", "决定")}</h1>
        <div class="bar-top">
          <input
            ref={input}
            type="search"
            class="search"
            defaultValue={query}
            aria-label={say("Search decisions", "搜索决定")}
            placeholder={say("Search by words or meaning", "按词语或含义搜索")}
            onInput={(event) => setQuery({ q: event.currentTarget.value || null }, { replace: true })}
          />
          <select aria-label={say("Outcome", "结果")} value={filter} onChange={(event) => setQuery({ outcome: event.currentTarget.value || null }, { replace: true })}>
            <option value="">{say("every outcome", "所有结果")}</option>
            <option value="unreviewed">{say("not reviewed yet", "尚未回顾")}</option>
            <option value="success">{nameOutcome("success")}</option>
            <option value="partial">{nameOutcome("partial")}</option>
            <option value="failure">{nameOutcome("failure")}</option>
            <option value="abandoned">{nameOutcome("abandoned")}</option>
          </select>
        </div>
        {asked ? <FoundList query={asked} /> : <DecisionList outcome={filter} />}
      </main>
    </>
  );
}

function FoundList({ query }: { query: string }) {
  const { value, error } = useLoad(() => call<{ decisions: FoundDecision[] }>("cstp.searchDecisions", { query, within: "decisions", limit: 30 }), query);
  if (error) return <Notice tone="bad">{error}</Notice>;
  if (value === null) return <Loading />;
  if (value.decisions.length === 0) return <p class="soft">{say("Nothing was decided about that.", "没有相关的决定。")}</p>;
  return (
    <ul class="lines">
      {value.decisions.map((each) => (
        <li key={each.decisionId}>
          <a class="session-line" data-in href={buildPath("decisions", each.decisionId)}>
            <span class="line-topic">{each.topic}</span>
            <span class="line-facts">
              <Strength strength={each.strength} /> <span class="cut">{each.decision ?? each.snippet}</span> <OutcomeMark outcome={each.outcome} />
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function DecisionList({ outcome }: { outcome: string }) {
  const { value, error } = useLoad(
    () => call<{ decisions: PastDecision[] }>("cstp.listDecisions", { limit: 200, ...(outcome ? { outcome } : {}) }),
    `list ${outcome}`,
  );
  if (error) return <Notice tone="bad">{error}</Notice>;
  if (value === null) return <Loading />;
  if (value.decisions.length === 0) {
    return (
      <p class="soft">
        {outcome
          ? say("No decision has that outcome.", "没有此结果的决定。")
          : say("Nothing was decided yet. Decisions appear here when sessions conclude.", "尚无决定。会议结束后，决定会出现在这里。")}
      </p>
    );
  }
  return (
    <ul class="lines">
      {value.decisions.map((each) => (
        <li key={each.decisionId}>
          <a class="session-line" data-in href={buildPath("decisions", each.decisionId)}>
            <span class="line-topic">{each.topic}</span>
            <span class="line-facts">
              <Strength strength={each.strength} /> <span class="cut">{each.choice || (each.decision ?? say("no decision", "未作决定"))}</span>
              <OutcomeMark outcome={each.outcome} />
              {each.obligations.some((one) => one.state === "open") && <span class="tag warn">◆ {say("obligations open", "有未完成义务")}</span>}
              <span class="soft">
                {each.protocol} · <Ago at={each.closedAt} />
              </span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

export function DecisionView({ id }: { id: string }) {
  const { value, error, again } = useLoad(() => call<DecisionTrace>("cstp.getDecision", { decisionId: id }), id);
  useEffect(() => {
    if (value) document.title = `${shortenText(value.topic, 80)} · Moot`;
  }, [value]);
  return (
    <>
      <Header />
      <main class="page two">
        {error && <Notice tone="bad" action={<a data-in href="/decisions">{say("All decisions", "全部决定")}</a>}>{error}</Notice>}
        {value === null ? (
          !error && <Loading />
        ) : (
          <>
            <article class="trace">
              <p class="soft">
                {say("The question", "问题")} · <Ago at={value.openedAt} />
              </p>
              <h1>{value.topic}</h1>
              <ol class="steps-list">
                {value.options.length > 0 && (
                  <li>
                    <h2>{say("Options", "选项")}</h2>
                    <p>{value.options.join(" / ")}</p>
                  </li>
                )}
                <li>
                  <h2>{say("Who took part", "参与者")}</h2>
                  <Members trace={value} />
                </li>
                {value.contributions.length > 0 && (
                  <li>
                    <h2>{say("What was said", "发言")}</h2>
                    <details class="fold">
                      <summary>{say(`${value.contributions.length} contributions`, `${value.contributions.length} 条发言`)}</summary>
                      <ul class="said">
                        {value.contributions.map((each) => (
                          <li key={each.id}>
                            <a data-in href={`${buildPath("s", id)}?entry=${each.id}`}>
                              #{each.id}
                            </a>{" "}
                            <b>{each.participant}</b> <span class="soft">{nameWord(each.type)}</span>
                            <p dir="auto">{each.text}</p>
                          </li>
                        ))}
                      </ul>
                    </details>
                  </li>
                )}
                <li>
                  <h2>{say("The decision", "决定")}</h2>
                  <p class="choice">
                    {value.choice || value.decision || say("There was no decision.", "未作出决定。")} <Strength strength={value.strength} />
                  </p>
                  {value.choice && value.decision && value.decision !== value.choice && <p dir="auto" class="decision-text">{value.decision}</p>}
                  <p class="soft">
                    {[nameWord(value.consensusType), value.confidence == null ? "" : say(`confidence ${formatShare(value.confidence)}`, `置信度 ${formatShare(value.confidence)}`)].filter(Boolean).join(" · ")}
                    {" · "}
                    <Ago at={value.closedAt} />
                  </p>
                  {value.dissent.length > 0 && (
                    <>
                      <h3>{say("Dissent", "异议")}</h3>
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
                      <h3>{say("Open questions", "未决问题")}</h3>
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
                    <h2>{say("Obligations", "义务")}</h2>
                    {value.obligations.map((each) => (
                      <ObligationLine key={each.number} obligation={each} mayRead={false} maySettle={mayDo("run")} onSettled={again} />
                    ))}
                  </li>
                )}
                <li>
                  <h2>{say("How it turned out", "结果如何")}</h2>
                  {value.reviews.length === 0 && <p class="soft">{say("Nobody has said yet.", "尚无人评价。")}</p>}
                  {value.reviews.map((each, index) => (
                    <p key={index}>
                      <OutcomeMark outcome={each.outcome} /> {each.choice && <span>{say("right was: ", "正确的是：")}{each.choice}</span>} {each.note}{" "}
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
              <h2>{say("Record", "记录")}</h2>
              <dl>
                <div>
                  <dt>{say("Id", "编号")}</dt>
                  <dd>
                    <CopyId id={value.decisionId} />
                  </dd>
                </div>
                <div>
                  <dt>{say("Protocol", "规程")}</dt>
                  <dd>{value.protocol}</dd>
                </div>
                <div>
                  <dt>{say("Stakes", "重要性")}</dt>
                  <dd>{nameWord(value.stakes)}</dd>
                </div>
                {value.category && (
                  <div>
                    <dt>{say("Category", "类别")}</dt>
                    <dd>{value.category}</dd>
                  </div>
                )}
              </dl>
              <ObligationNotices obligations={value.obligations} isSuccess={value.outcome === "success"} />
              <p>
                <a data-in href={buildPath("s", value.decisionId)}>
                  {say("Open the meeting", "打开会议")}
                </a>
              </p>
              {value.builtOn.length > 0 && (
                <>
                  <h3>{say("Builds on", "建立于")}</h3>
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
          {say(`${open} ${open === 1 ? "obligation is" : "obligations are"} open. Was each met, waived or failed?`, `${open} 项义务未了结：是已履行、已豁免，还是未履行？`)}
        </Notice>
      )}
      {failed > 0 && isSuccess && (
        <Notice tone="warn">
          {say(`It is said to have turned out well, although ${failed} of its obligations failed.`, `虽被评为结果良好，但有 ${failed} 项义务未履行。`)}
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
  if (trace.members.length === 0) return <p class="soft">{say("Not recorded.", "未记录。")}</p>;
  const moved = new Map(trace.changedMinds.map((each) => [each.participant, each]));
  return (
    <Table
      heads={[say("Seat", "席位"), say("At first", "最初"), say("In the end", "最终"), say("Changed by", "因何改变")]}
      wide={[1]}
      rows={trace.members.map((each) => [
        <a data-in href={buildPath("trust", each.source)}>
          {each.seat}
        </a>,
        <Sureness words={each.first} confidence={each.firstConfidence} />,
        <Sureness words={nameWord(each.position)} confidence={each.confidence} />,
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
  const key = useRef(newKey());
  const outcomes = ["success", "partial", "failure", "abandoned"];
  return (
    <form class="form review" onSubmit={(event) => event.preventDefault()}>
      <div class="row" role="radiogroup" aria-label={say("How did it turn out?", "结果如何？")}>
        {outcomes.map((each) => (
          <button type="button" key={each} role="radio" aria-checked={outcome === each} class={outcome === each ? "chosen" : ""} onClick={() => setOutcome(each)}>
            {nameOutcome(each)}
          </button>
        ))}
      </div>
      {outcome && (
        <>
          {trace.options.length > 0 && outcome !== "success" && (
            <label>
              {say("What would have been right (if known)", "正确的本应是（如已知）")}
              <select value={choice} onChange={(event) => setChoice(event.currentTarget.value)}>
                <option value="">–</option>
                {trace.options.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </label>
          )}
          <label>
            {say("Note (optional)", "备注（可选）")}
            <input type="text" maxLength={4000} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
          </label>
          <div class="row">
            <Action
              class="main"
              type="submit"
              do={async () => {
                await call("cstp.reviewDecision", { decisionId: trace.decisionId, outcome, ...(choice ? { choice } : {}), ...(note ? { note } : {}), idempotencyKey: key.current });
                key.current = newKey();
                setOutcome("");
                setNote("");
                await onDone();
              }}
            >
              {say("Record the outcome", "记录结果")}
            </Action>
          </div>
        </>
      )}
    </form>
  );
}
