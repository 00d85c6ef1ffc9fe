// Trust by participant with its cases and history, and whether groups did better than their members alone.
import { useEffect } from "preact/hooks";
import { Chart } from "../chart";
import { formatShare, nameTerm, countThings } from "../format";
import { say } from "../language";
import { Ago, Loading, Notice, Table, useLoad } from "../parts";
import { buildPath } from "../route";
import { call } from "../rpc";
import { Header } from "../shell";
import { setTitle } from "../turns";
import type { Amplification, Reliability, TrustCase } from "../wire";
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
  const { value, error } = useLoad(() => call("cstp.listSources"), "sources");
  const group = useLoad(() => call("cstp.getAmplificationStats"), "amplification");
  const kept = useLoad(() => call("cstp.getReliability"), "reliability");
  const hasQuotations = value?.sources.some((each) => each.quotations > 0);
  return (
    <>
      <Header />
      <main class="page">
        <h1>{say("trust")}</h1>
        <p class="soft">
          {say("how_far_a_participants_stated_confidence")}
        </p>
        {error && <Notice tone="bad">{error}</Notice>}
        {value === null ? (
          !error && <Loading />
        ) : value.sources.length === 0 ? (
          <Notice action={<a data-in href="/decisions?outcome=unreviewed">{say("review_a_decision")}</a>}>
            {say("nobody_has_a_track_record_yet")}
          </Notice>
        ) : (
          <Table
            heads={[say("participant"), say("trust"), say("right"), say("cases"), "Brier", ...(hasQuotations ? [say("quotations_held_head")] : [])]}
            rows={value.sources.map((each) => [
              <a data-in href={buildPath("trust", each.source)}>
                {each.source}
              </a>,
              <TrustShare trust={each.trust} />,
              formatShare(each.accuracy),
              each.cases,
              formatBrier(each.brier),
              ...(hasQuotations ? [describeShare({ right: each.quotationsHeld, of: each.quotations })] : []),
            ])}
          />
        )}
        {value && value.sources.length > 0 && (
          <p class="soft">{say("right_is_how_often_it_was")}</p>
        )}
        <section aria-label={say("how_often_decisions_were_right")}>
          <h2>{say("how_often_decisions_were_right")}</h2>
          {kept.error && <Notice tone="bad">{kept.error}</Notice>}
          {kept.value && kept.value.groups.length === 0 && <p class="soft">{say("no_decision_has_been_held_against")}</p>}
          {kept.value && kept.value.groups.length > 0 && <ReliabilityTable found={kept.value} />}
        </section>
        <section aria-label={say("are_groups_better_than_their_members")}>
          <h2>{say("are_groups_better_than_their_members")}</h2>
          {group.error && <Notice tone="bad">{group.error}</Notice>}
          {group.value && group.value.protocols.length === 0 && (
            <p class="soft">{say("no_reviewed_decision_can_be_compared")}</p>
          )}
          {group.value && group.value.protocols.length > 0 && <GroupTable rows={group.value.protocols} />}
        </section>
      </main>
    </>
  );
}

function ReliabilityTable({ found }: { found: Reliability }) {
  return (
    <>
      <Table
        heads={[say("protocol"), say("kind_of_agreement"), say("model_family"), say("right_of_cases"), say("said_on_average"), "Brier"]}
        rows={found.groups.map((each) => [
          nameTerm("protocols", each.protocol),
          nameTerm("agreement_kinds", each.agreement),
          each.family || "–",
          say("right_of_all", { right: each.right, all: each.cases, share: formatShare(each.right / each.cases) }),
          each.said == null ? "–" : formatShare(each.said),
          formatBrier(each.brier),
        ])}
      />
      {found.bins.length > 0 && (
        <Chart
          block={{
            kind: "lines",
            label: say("calibration_how_often_it_was_right"),
            labels: found.bins.map((each) => `${Math.round(each.low * 100)}–${Math.round(each.high * 100)} % (${each.cases})`),
            series: [
              { name: say("was_right_2"), values: found.bins.map((each) => each.right / each.cases) },
              { name: say("if_perfectly_calibrated"), values: found.bins.map((each) => each.said) },
            ],
            bounds: [],
          }}
        />
      )}
    </>
  );
}

function GroupTable({ rows }: { rows: Amplification[] }) {
  return (
    <>
      <Table
        heads={[say("protocol"), say("cases"), say("group_right"), say("members_right"), say("with_without_a_first_choice"), say("majority_right"), say("corrected_misled"), say("errors_kept")]}
        rows={rows.map((each) => [
          nameTerm("protocols", each.protocol),
          each.cases,
          describeShare(each.group),
          describeShare(each.members),
          describeBlank(each),
          describeShare(each.majority),
          `${each.corrections} / ${each.subversions}`,
          each.amplification == null ? "–" : each.amplification.toFixed(2),
        ])}
      />
      <p class="soft">{say("errors_kept_is_the_groups_rate")}</p>
      {rows.some((each) => each.membersBlank > 0) && (
        <p class="soft">{say("a_member_without_a_first_choice")}</p>
      )}
    </>
  );
}

function describeBlank(each: Amplification): string {
  const cases = each.casesBlank > 0 ? countThings("blank_cases", each.casesBlank) : "";
  return `${each.membersKnown + each.membersUnknown - each.membersBlank} / ${each.membersBlank}${cases}`;
}

function describeShare(share: { right: number; of: number }): string {
  return share.of === 0 ? "–" : `${formatShare(share.right / share.of)} (${share.of})`;
}

export function TrustView({ source }: { source: string }) {
  const { value, error } = useLoad(() => call("cstp.getSourceTrust", { source }), source);
  useEffect(() => {
    if (value) setTitle(`${source} · ${say("trust")} · Moot`);
  }, [value]);
  const cases = useLoad(() => call("moot.getTrustHistory", { source }), `history ${source}`);
  const history = cases.value?.cases ?? [];
  return (
    <>
      <Header />
      <main class="page">
        <p>
          <a data-in href="/trust">
            ← {say("trust")}
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
                    <span>{say("trust_2")}</span>
                  </div>
                </li>
                <li>
                  <div class="figure">
                    <b>{formatShare(value.accuracy)}</b>
                    <span>{say("right_by_its_record")}</span>
                  </div>
                </li>
                <li>
                  <div class="figure">
                    <b>{value.cases}</b>
                    <span>{say("reviewed_cases")}</span>
                  </div>
                </li>
                <li>
                  <div class="figure">
                    <b>{formatBrier(value.brier)}</b>
                    <span>{say("brier_score_0_is_perfect_0")}</span>
                  </div>
                </li>
                {value.quotations > 0 && (
                  <li>
                    <div class="figure">
                      <b>{describeShare({ right: value.quotationsHeld, of: value.quotations })}</b>
                      <span>{say("quotations_held")}</span>
                    </div>
                  </li>
                )}
              </ul>
            </div>
            {value.cases === 0 && <Notice>{say("without_a_record_it_counts_as")}</Notice>}
            {cases.error && <Notice tone="bad">{cases.error}</Notice>}
            {history.length > 1 && (
              <Chart block={{ kind: "lines", label: say("trust_after_each_case"), labels: history.map((_, index) => String(index + 1)), series: [{ name: source, values: history.map((each) => each.trust) }], bounds: [0.5] }} />
            )}
            {history.length > 4 && <Calibration history={history} />}
            {history.length > 0 && (
              <section aria-label={say("cases")}>
                <h2>{say("cases")}</h2>
                <ul class="lines">
                  {history.toReversed().map((each, index) => (
                    <li key={index}>
                      <a class="session-line" data-in href={buildPath("decisions", each.decisionId)}>
                        <span class="line-topic">{each.topic || each.decisionId}</span>
                        <span class="line-facts">
                          <RightMark right={each.right} />
                          {nameTerm("verdicts", each.position)}
                          {each.confidence != null && <span>{say("confidence_sure", { confidence: formatShare(each.confidence) })}</span>}
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
              <section aria-label={say("by_category")}>
                <h2>{say("by_category")}</h2>
                <Table
                  heads={[say("category"), say("trust"), say("cases"), "Brier"]}
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

function RightMark({ right }: { right: number | null | undefined }) {
  if (right == null) return null;
  const [tone, sign, word] = right > 0.5 ? ["good", "▲", say("was_right")] : right < 0.5 ? ["bad", "▼", say("was_wrong")] : ["warn", "◆", say("half_right")];
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
  const known = history.flatMap((each) => (each.right == null || each.confidence == null ? [] : [{ right: each.right, confidence: each.confidence }]));
  const steps = STEPS.map((low) => known.filter((each) => each.confidence >= low && (each.confidence < low + 0.2 || low === 0.8)));
  const shares = steps.map((cases) => (cases.length === 0 ? null : cases.reduce((sum, each) => sum + each.right, 0) / cases.length));
  return (
    <Chart
      block={{
        kind: "lines",
        label: say("calibration_how_often_it_was_right"),
        labels: STEPS.map((low) => `${low * 100}–${low * 100 + 20} %`),
        series: [
          { name: say("was_right_2"), values: shares },
          { name: say("if_perfectly_calibrated"), values: STEPS.map((low) => low + 0.1) },
        ],
        bounds: [],
      }}
    />
  );
}
