// The reader's language, and every text in it: say("decision"). The texts stand in src/moothall/locale/LANGUAGE/page.toml.
import { signal } from "@preact/signals";
import type { Language } from "./wire";
import { readStored, writeStored } from "./storage";
import { LANGUAGES, WORDS, type Counted, type Key, type Table, type Values } from "./words";

export type { Counted, Table };

const DEFAULT: Language = "en";

/** A language that the page has words in; English for any other. */
function findLanguage(code: string | null | undefined): Language {
  return LANGUAGES.some((each) => each.code === code) ? (code as Language) : DEFAULT;
}

/** The languages to choose from: those that are nearly complete, and the one that is spoken now. */
export function listOffered(): typeof LANGUAGES {
  return LANGUAGES.filter((each) => each.isOffered || each.code === language.value);
}

/** The browser's language; one that is only begun is spoken where a reader or a session names it. */
function findOfBrowser(): Language {
  const code = findLanguage(navigator.language.split("-")[0]);
  return LANGUAGES.find((each) => each.code === code)?.isOffered ? code : DEFAULT;
}

const stored = readStored("language");
const ofBrowser = findOfBrowser();

export const isLanguageChosen = signal(stored !== null && findLanguage(stored) === stored);
export const language = signal<Language>(isLanguageChosen.value ? findLanguage(stored) : ofBrowser);

/** A text in the reader's language, with its values filled in. */
export function say<K extends Key>(key: K, ...values: K extends keyof Values ? [Values[K]] : []): string {
  const text = WORDS[language.value]?.texts[key] ?? WORDS[DEFAULT]!.texts[key] ?? key;
  return values[0] ? fill(text, values[0]) : text;
}

export function fill(text: string, values: Record<string, string | number>): string {
  const chosen = text.replace(/\{(\w+):\|([^|{}]*)\|([^|{}]*)\}/g, (_, name: string, one: string, many: string) => (String(values[name]) === "1" ? one : many));
  return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

export function findTerm(table: Table, code: string): string | undefined {
  return WORDS[language.value]?.terms[table]?.[code] ?? WORDS[DEFAULT]!.terms[table]?.[code];
}

export function findCounted(things: Counted, isOne: boolean): string {
  const pair = WORDS[language.value]?.counts[things] ?? WORDS[DEFAULT]!.counts[things];
  return pair?.[isOne ? 0 : 1] ?? things;
}

/** The BCP 47 tag by which times are written in the reader's language. */
export function getTag(): string {
  return LANGUAGES.find((each) => each.code === language.value)?.tag ?? DEFAULT;
}

export function chooseLanguage(to: Language): void {
  writeStored("language", to);
  isLanguageChosen.value = true;
  language.value = findLanguage(to);
}

/** Speak the language of what is shown, unless the reader chose one. */
export function followLanguage(of: Language | undefined): void {
  if (!isLanguageChosen.value) language.value = of === undefined ? ofBrowser : findLanguage(of);
}
