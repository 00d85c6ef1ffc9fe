// Light or dark: as the system says, unless the reader chose.
import { effect, signal } from "@preact/signals";
import { readStored, writeStored } from "./storage";

export type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
const stored = readStored("theme");
const chosen = signal<Theme | null>(stored === "light" || stored === "dark" ? stored : null);
export const theme = signal<Theme>("light");

function settle(): void {
  theme.value = chosen.value ?? (system.matches ? "dark" : "light");
}

system.addEventListener("change", settle);
effect(settle);
effect(() => {
  if (chosen.value === null) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen.value;
});

export function switchTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  writeStored("theme", chosen.value);
}
