// The library of the charts, a file of its own: most views have none, and it is a quarter of the script.
import uPlot from "uplot";

declare global {
  interface Window {
    mootPlot?: typeof uPlot;
  }
}

window.mootPlot = uPlot;
