// Charts by uPlot, each with its table.
import { useContext, useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { say } from "./language";
import { PlaceContext } from "./place";
import { theme } from "./theme";
import type { ChartBlock, Series } from "./wire";

const HEIGHT = 190;
const HUES = 8;
/** Lines that lie on each other show through each other, and differ without colour. */
const DASHES = [undefined, [10, 5], [3, 4], [12, 4, 3, 4]];

/** An exported page holds it already. */
async function loadPlot(): Promise<typeof uPlot> {
  const path = "/page/plot.js";
  if (!window.mootPlot) await import(path);
  return window.mootPlot as typeof uPlot;
}

/** A colour of the style sheet, as the canvas takes it. */
function readColor(host: Element, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  host.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

/** Sums from below, so that each series stands on the one before it. */
function stackValues(series: Series[]): number[][] {
  const sums: number[][] = [];
  for (const each of series) {
    const below = sums.at(-1);
    sums.push(each.values.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)));
  }
  return sums;
}

function buildOptions(block: ChartBlock, host: HTMLElement, hueOf: (seat: string) => number | null, paths: uPlot.Series.PathBuilderFactories): { options: uPlot.Options; data: uPlot.AlignedData } {
  const soft = readColor(host, "--soft");
  const grid = { stroke: readColor(host, "--line"), width: 1 };
  const axis = { stroke: soft, grid, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const at = block.labels.map((_, index) => index);
  const isColumns = block.kind === "columns";
  const sums = isColumns ? stackValues(block.series) : [];
  const drawn = isColumns ? sums.toReversed() : block.series.map((each) => each.values);
  const hues = block.series.map((each, index) => readColor(host, `--hue-${hueOf(each.name) ?? index % HUES}`));
  const bounds = block.kind === "lines" ? block.bounds : [];
  const most = isColumns ? Math.max(1, ...sums.flat()) : 1;
  const options: uPlot.Options = {
    width: host.clientWidth || 300,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [10, 12, 0, 0],
    scales: { x: { time: false, range: [-0.5, Math.max(0.5, block.labels.length - 0.5)] }, y: { range: [0, most * (isColumns ? 1.08 : 1.02)] } },
    axes: [
      { ...axis, size: 28, grid: { show: false }, splits: () => thinOut(at, host.clientWidth), values: (_, found) => found.map((each) => block.labels[each] ?? "") },
      { ...axis, size: 40, incrs: isColumns ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] : [0.25, 0.5] },
    ],
    series: [
      {},
      ...drawn.map((_, index) => {
        const hue = (isColumns ? hues.toReversed() : hues)[index] ?? soft;
        return isColumns
          ? { stroke: hue, fill: hue, width: 0, points: { show: false }, paths: paths.bars?.({ size: [0.7, 48] }) }
          : { stroke: hue, width: 2, dash: DASHES[index % DASHES.length], spanGaps: false, points: { show: block.labels.length <= 40, size: 6, fill: hue } };
      }),
    ],
    hooks: {
      draw: [
        (plot) => {
          const context = plot.ctx;
          for (const bound of bounds) {
            const y = plot.valToPos(bound, "y", true);
            context.save();
            context.strokeStyle = soft;
            context.fillStyle = soft;
            context.setLineDash([4, 4]);
            context.beginPath();
            context.moveTo(plot.bbox.left, y);
            context.lineTo(plot.bbox.left + plot.bbox.width, y);
            context.stroke();
            context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
            context.textAlign = "right";
            context.fillText(String(bound), plot.bbox.left + plot.bbox.width - 4, y - 4 * devicePixelRatio);
            context.restore();
          }
        },
      ],
    },
  };
  return { options, data: [at, ...drawn] as uPlot.AlignedData };
}

/** As many labels as have room. */
function thinOut(at: number[], width: number): number[] {
  const step = Math.max(1, Math.ceil(at.length / Math.max(2, Math.floor(width / 56))));
  return at.filter((each) => each % step === 0);
}

export function Chart({ block }: { block: ChartBlock }) {
  const host = useRef<HTMLDivElement>(null);
  const { hueOf } = useContext(PlaceContext);
  const look = theme.value;
  const shape = JSON.stringify(block);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    let plot: uPlot | null = null;
    let isOver = false;
    const observer = new ResizeObserver(() => {
      if (plot && element.clientWidth > 0 && element.clientWidth !== plot.width) plot.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    // Where it cannot be loaded, there is the table.
    void loadPlot().then(
      (Plot) => {
        if (isOver) return;
        const { options, data } = buildOptions(block, element, hueOf, Plot.paths);
        plot = new Plot(options, data, element);
        observer.observe(element);
      },
      () => undefined,
    );
    return () => {
      isOver = true;
      observer.disconnect();
      plot?.destroy();
    };
    // A chart with the same figures stays.
  }, [shape, look]);
  return (
    <figure class="chart">
      <figcaption>{block.label}</figcaption>
      <div class="plot" ref={host} role="img" aria-label={`${block.label}. ${say("the_figures_stand_in_the_table")}`} />
      {block.series.length > 1 && (
        <ul class="key">
          {block.series.map((each, index) => (
            <li key={index}>
              <i class={`swatch hue-${hueOf(each.name) ?? index % HUES}`} />
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
