// Trust by participant with its cases and history, and whether groups did better than their members alone.
import { useEffect } from "preact/hooks";
import { Chart } from "../chart";
import { formatShare, nameWord } from "../format";
import { say } from "../language";
import { Ago, Loading, Notice, Table, useLoad } from "../parts";
import { buildPath } from "../route";
import { call } from "../rpc";
import { Header } from "../shell";
import type { Amplification, Trust, TrustCase } from "../wire";
import { OutcomeMark } from "./decisions";

function TrustShare({ trust }: { trust: number }) {
  return (
    <>
      <span class="track wide-track" aria-hidden="true">
        <i class="fill plain" style={{ width: `${trust * 100}%` }} />
        <i class="half" />
      </span>{" "}
      {formatShare(trust)}
    </>
  );
}

function formatBrier(brier: number | null | undefined): string {
  return brier == null ? "–" : brier.toFixed(3);
}

export function TrustList() {
  const { value, error } = useLoad(() => call<{ sources: Trust[] }>("cstp.listSources"), "sources");
  const group = useLoad(() => call<{ protocols: Amplification[] }>("cstp.getAmplificationStats"), "amplification");
  useEffect(() => {
    document.title = `${say("Trust", "信任")} · Moot`;
  }, []);
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("Trust", "信任")}</h1>
        <p class="soft">
          {say(
            "How far a participant's stated confidence agreed with what happened later. 50 % is a participant without a record. It moves only when outcomes are reviewed.",
            "参与者声明的把握与后来的结果相符的程度。没有记录者为 50 %。只有在回顾结果时才会变化。",
          )}
        </p>
        {error && <Notice tone="bad">{error}</Notice>}
        {value === null ? (
          !error && <Loading />
        ) : value.sources.length === 0 ? (
          <Notice action={<a data-in href="/decisions?outcome=unreviewed">{say("Review a decision", "回顾一项决定")}</a>}>
            {say("Nobody has a track record yet: it grows with each outcome that is reviewed.", "尚无人有记录：每回顾一个结果，记录就会增长。")}
          </Notice>
        ) : (
          <Table
            heads={[say("Participant", "参与者"), say("Trust", "信任"), say("Right", "正确率"), say("Cases", "案例"), "Brier"]}
            rows={value.sources.map((each) => [
              <a data-in href={buildPath("trust", each.source)}>
                {each.source}
              </a>,
              <TrustShare trust={each.trust} />,
              formatShare(each.accuracy),
              each.cases,
              formatBrier(each.brier),
            ])}
          />
        )}
        {value && value.sources.length > 0 && (
          <p class="soft">{say("“Right” is how often it was right, by its record. The Brier score measures stated confidence against outcomes: 0 is perfect, 0.25 knows nothing.", "“正确率”按其记录计算。Brier 分数比较声明的把握与结果：0 为完美，0.25 为一无所知。")}</p>
        )}
        <section aria-label={say("Are groups better than their members alone?", "群体是否胜过单独的成员？")}>
          <h2>{say("Are groups better than their members alone?", "群体是否胜过单独的成员？")}</h2>
          {group.error && <Notice tone="bad">{group.error}</Notice>}
          {group.value && group.value.protocols.length === 0 && (
            <p class="soft">{say("No reviewed decision can be compared with what its members thought first.", "还没有可与成员最初想法比较的已回顾决定。")}</p>
          )}
          {group.value && group.value.protocols.length > 0 && <GroupTable rows={group.value.protocols} />}
        </section>
      </main>
    </>
  );
}

function GroupTable({ rows }: { rows: Amplification[] }) {
  return (
    <>
      <Table
        heads={[say("Protocol", "规程"), say("Cases", "案例"), say("Group right", "群体正确"), say("Members right", "成员正确"), say("With / without a first choice", "有 / 无最初选择"), say("Majority right", "多数正确"), say("Corrected / misled", "纠正 / 误导"), say("Errors kept", "错误保留")]}
        rows={rows.map((each) => [
          each.protocol,
          each.cases,
          describeShare(each.group),
          describeShare(each.members),
          describeBlank(each),
          describeShare(each.majority),
          `${each.corrections} / ${each.subversions}`,
          each.amplification == null ? "–" : each.amplification.toFixed(2),
        ])}
      />
      <p class="soft">{say("“Errors kept” is the group's rate of error over its members': below 1 the group corrected them.", "“错误保留”为群体错误率与成员错误率之比：小于 1 表示群体纠正了成员。")}</p>
      {rows.some((each) => each.membersBlank > 0) && (
        <p class="soft">{say("A member without a first choice gave none before it heard the others, or its protocol gave it no chance to; it is not counted.", "没有最初选择的成员：在听到他人之前没有给出选择，或其规程不提供这样的机会；不计入统计。")}</p>
      )}
    </>
  );
}

function describeBlank(each: Amplification): string {
  const cases = each.casesBlank > 0 ? say(` (${each.casesBlank} ${each.casesBlank === 1 ? "case" : "cases"} without any)`, `（${each.casesBlank} 个案例全无）`) : "";
  return `${each.membersKnown + each.membersUnknown - each.membersBlank} / ${each.membersBlank}${cases}`;
}

function describeShare(share: { right: number; of: number }): string {
  return share.of === 0 ? "–" : `${formatShare(share.right / share.of)} (${share.of})`;
}

export function TrustView({ source }: { source: string }) {
  const { value, error } = useLoad(() => call<Trust>("cstp.getSourceTrust", { source }), source);
  useEffect(() => {
    document.title = `${source} · ${say("Trust", "信任")} · Moot`;
  }, [source]);
  const cases = useLoad(() => call<{ cases: TrustCase[] }>("moot.getTrustHistory", { source }), `history ${source}`);
  const history = cases.value?.cases ?? [];
  return (
    <>
      <Header />
      <main class="page">
        <p>
          <a data-in href="/trust">
            ← {say("Trust", "信任")}
          </a>
        </p>
        <h1>{source}</h1>
        {error && <Notice tone="bad">{error}</Notice>}
        {value === null ? (
          !error && <Loading />
        ) : (
          <>
            <div class="figures">
              <ul>
                <li>
                  <div class="figure">
                    <b>{formatShare(value.trust)}</b>
                    <span>{say("trust", "信任")}</span>
                  </div>
                </li>
                <li>
                  <div class="figure">
                    <b>{formatShare(value.accuracy)}</b>
                    <span>{say("right, by its record", "记录中的正确率")}</span>
                  </div>
                </li>
                <li>
                  <div class="figure">
                    <b>{value.cases}</b>
                    <span>{say("reviewed cases", "已回顾案例")}</span>
                  </div>
                </li>
                <li>
                  <div class="figure">
                    <b>{formatBrier(value.brier)}</b>
                    <span>{say("Brier score (0 is perfect, 0.25 knows nothing)", "Brier 分数（0 为完美，0.25 为一无所知）")}</span>
                  </div>
                </li>
              </ul>
            </div>
            {value.cases === 0 && <Notice>{say("Without a record it counts as 50 %. Review decisions in which it took part.", "没有记录时按 50 % 计。请回顾其参与的决定。")}</Notice>}
            {cases.error && <Notice tone="bad">{cases.error}</Notice>}
            {history.length > 1 && (
              <Chart block={{ kind: "lines", label: say("Trust after each case", "每个案例之后的信任"), labels: history.map((_, index) => String(index + 1)), series: [{ name: source, values: history.map((each) => each.trust) }], bounds: [0.5] }} />
            )}
            {history.length > 4 && <Calibration history={history} />}
            {history.length > 0 && (
              <section aria-label={say("Cases", "案例")}>
                <h2>{say("Cases", "案例")}</h2>
                <ul class="lines">
                  {history.toReversed().map((each, index) => (
                    <li key={index}>
                      <a class="session-line" data-in href={buildPath("decisions", each.decision)}>
                        <span class="line-topic">{each.topic || each.decision}</span>
                        <span class="line-facts">
                          <RightMark right={each.right} />
                          {nameWord(each.position)}
                          {each.confidence != null && <span>{say(`${formatShare(each.confidence)} sure`, `把握 ${formatShare(each.confidence)}`)}</span>}
                          <OutcomeMark outcome={each.outcome} />
                          <span class="soft">
                            <Ago at={each.at} />
                          </span>
                        </span>
                      </a>
                    </li>
                  ))}
                </ul>
              </section>
            )}
            {value.categories.length > 0 && (
              <section aria-label={say("By category", "按类别")}>
                <h2>{say("By category", "按类别")}</h2>
                <Table
                  heads={[say("Category", "类别"), say("Trust", "信任"), say("Cases", "案例"), "Brier"]}
                  rows={value.categories.map((each) => [each.category || "–", <TrustShare trust={each.trust} />, each.cases, formatBrier(each.brier)])}
                />
              </section>
            )}
          </>
        )}
      </main>
    </>
  );
}

function RightMark({ right }: { right: number | undefined }) {
  if (right === undefined) return null;
  const [tone, sign, word] = right > 0.5 ? ["good", "▲", say("was right", "判断正确")] : right < 0.5 ? ["bad", "▼", say("was wrong", "判断错误")] : ["warn", "◆", say("half right", "对错参半")];
  return (
    <span class={`tag ${tone}`}>
      <i class={`sign ${tone}`} aria-hidden="true">
        {sign}
      </i>
      {word}
    </span>
  );
}

const STEPS = [0, 0.2, 0.4, 0.6, 0.8];

/** Stated confidence against how often it was right, in five steps. */
function Calibration({ history }: { history: TrustCase[] }) {
  const known = history.flatMap((each) => (each.right === undefined || each.confidence == null ? [] : [{ right: each.right, confidence: each.confidence }]));
  const steps = STEPS.map((low) => known.filter((each) => each.confidence >= low && (each.confidence < low + 0.2 || low === 0.8)));
  const shares = steps.map((cases) => (cases.length === 0 ? null : cases.reduce((sum, each) => sum + each.right, 0) / cases.length));
  return (
    <Chart
      block={{
        kind: "lines",
        label: say("Calibration: how often it was right, by how sure it was", "校准：按把握程度统计的正确率"),
        labels: STEPS.map((low) => `${low * 100}–${low * 100 + 20} %`),
        series: [
          { name: say("was right", "实际正确率"), values: shares },
          { name: say("if perfectly calibrated", "完美校准"), values: STEPS.map((low) => low + 0.1) },
        ],
        bounds: [],
      }}
    />
  );
}
