// Charts as SVG, each with its table: drawn with the rest of the page, so that they stand on paper too.
import { useContext } from "preact/hooks";
import { say } from "./language";
import { PlaceContext } from "./place";
import type { ChartBlock, Series } from "./wire";

const HUES = 8;
const MAX_LABELS = 8;
/** Lines that lie on each other show through each other, and differ without colour. */
const DASHES = [undefined, "10 5", "3 4", "12 4 3 4"];
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** Sums from below, so that each series stands on the one before it. */
function stackValues(series: Series[]): number[][] {
  const sums: number[][] = [];
  for (const each of series) {
    const below = sums.at(-1);
    sums.push(each.values.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)));
  }
  return sums;
}

/** The values of the lines across a chart. */
function listTicks(most: number, isColumns: boolean): number[] {
  if (!isColumns) return [0, 0.5, 1];
  const step = STEPS.find((each) => most / each <= 4) ?? most;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
}

/** The chart itself, in percents of its place: strokes keep their width, words are HTML and keep their size. */
function Plot({ block, hues }: { block: ChartBlock; hues: number[] }) {
  const count = Math.max(1, block.labels.length);
  const isColumns = block.kind === "columns";
  const sums = isColumns ? stackValues(block.series) : [];
  const most = Math.max(1, ...sums.flat());
  const x = (at: number): number => ((at + 0.5) / count) * 100;
  const y = (value: number): number => 100 - (value / (most * 1.05)) * 100;
  const bounds = block.kind === "lines" ? block.bounds : [];
  const step = Math.ceil(count / MAX_LABELS);
  const drawLine = (values: Series["values"]): string =>
    values.map((value, at) => (value == null ? "" : `${values[at - 1] == null ? "M" : "L"}${x(at)} ${y(value)}`)).join("");
  const drawPoints = (values: Series["values"]): string => values.map((value, at) => (value == null ? "" : `M${x(at)} ${y(value)}h0`)).join("");
  const drawColumns = (series: number): string =>
    (sums[series] ?? []).map((sum, at) => (block.series[series]?.values[at] ? `M${x(at)} ${y(sums[series - 1]?.[at] ?? 0)}V${y(sum)}` : "")).join("");
  return (
    <>
      <div class="plot-area">
        <svg viewBox="0 0 100 100" preserveAspectRatio="none">
          <path class="grid" d={listTicks(most, isColumns).map((tick) => `M0 ${y(tick)}H100`).join("")} />
          <path class="bound" d={bounds.map((bound) => `M0 ${y(bound)}H100`).join("")} />
          {block.series.map((each, index) => (
            <g key={index} class={`hue-${hues[index]}`}>
              <path
                d={isColumns ? drawColumns(index) : drawLine(each.values)}
                stroke-width={isColumns ? Math.max(2, Math.min(32, 240 / count)) : 2}
                stroke-dasharray={isColumns ? undefined : DASHES[index % DASHES.length]}
              />
              {!isColumns && count <= 40 && <path d={drawPoints(each.values)} class="points" />}
            </g>
          ))}
        </svg>
        {listTicks(most, isColumns).map((tick) => (
          <span key={tick} class="tick" style={{ top: `${y(tick)}%` }}>
            {tick}
          </span>
        ))}
        {bounds.map((bound) => (
          <span key={bound} class="bound-name" style={{ top: `${y(bound)}%` }}>
            {bound}
          </span>
        ))}
      </div>
      <div class={`plot-labels ${step > 1 ? "thin" : ""}`} style={{ gridTemplateColumns: `repeat(${count}, minmax(0, 1fr))` }}>
        {block.labels.map((label, at) => (at % step === 0 ? <span key={at} style={{ gridColumn: at + 1 }}>{label}</span> : null))}
      </div>
    </>
  );
}

export function Chart({ block }: { block: ChartBlock }) {
  const { hueOf } = useContext(PlaceContext);
  const hues = block.series.map((each, index) => hueOf(each.name) ?? index % HUES);
  return (
    <figure class="chart">
      <figcaption>{block.label}</figcaption>
      <div class="plot" role="img" aria-label={`${block.label}. ${say("the_figures_stand_in_the_table")}`}>
        <Plot block={block} hues={hues} />
      </div>
      {block.series.length > 1 && (
        <ul class="key">
          {block.series.map((each, index) => (
            <li key={index}>
              <i class={`swatch hue-${hues[index]}`} />
              {each.name}
            </li>
          ))}
        </ul>
      )}
      <details class="fold">
        <summary>{say("as_a_table")}</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={block.label}>
          <table>
            <thead>
              <tr>
                <th scope="col" />
                {block.series.map((each, index) => (
                  <th scope="col" key={index}>
                    {each.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.labels.map((label, row) => (
                <tr key={row}>
                  <th scope="row">{label}</th>
                  {block.series.map((each, index) => (
                    <td key={index}>{formatValue(each.values[row])}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

function formatValue(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : String(Math.round(value * 1000) / 1000);
}
