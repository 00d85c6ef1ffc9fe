// The URL is the state. From disk (an export) the state stands behind the #, since there are no paths.
import { computed, signal } from "@preact/signals";

export const exported = document.getElementById("moot-view")?.textContent ?? null;

export interface Route {
  path: string[];
  query: URLSearchParams;
}

function readRoute(): Route {
  if (exported !== null) return { path: ["s", "exported"], query: new URLSearchParams(location.hash.slice(1)) };
  return { path: location.pathname.split("/").filter(Boolean).map(decode), query: new URLSearchParams(location.search) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<Route>(readRoute());
export const page = computed(() => route.value.path[0] ?? "");

/** Whether the view was reached by the browser's back or forward: the browser brings its place on the screen along. */
export let isReturning = false;
addEventListener("popstate", () => {
  isReturning = true;
  route.value = readRoute();
});
addEventListener("hashchange", () => (route.value = readRoute()));

export function go(to: string, options: { replace?: boolean } = {}): void {
  isReturning = false;
  history[options.replace ? "replaceState" : "pushState"](null, "", to);
  route.value = readRoute();
}

/** A number of an entry in the query; null without one. */
export function readNumber(query: URLSearchParams, name: string): number | null {
  const text = query.get(name) ?? "";
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}

/** The query of a session of which nothing is selected. */
export const NOTHING_SELECTED = { lens: null, seat: null, entry: null };

/** Change parts of the query; null takes one away. */
export function setQuery(changes: Record<string, string | null>, options: { replace?: boolean } = {}): void {
  go(buildQueryUrl(changes), options);
}

export function buildQueryUrl(changes: Record<string, string | null>): string {
  const query = new URLSearchParams(route.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  if (exported !== null) return `#${text}`;
  return location.pathname + (text ? `?${text}` : "");
}

export function buildPath(...parts: string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** Follow links within the page without loading it anew. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.("a[data-in]") as HTMLAnchorElement | null;
    if (!link || link.target) return;
    event.preventDefault();
    const to = link.getAttribute("href") ?? "/";
    if (to !== location.pathname + location.search) go(to);
  });
}
