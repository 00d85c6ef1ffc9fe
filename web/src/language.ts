// Both languages of every text stand where it is used: say("Decision", "决定").
import { signal } from "@preact/signals";
import type { Language } from "./wire";
import { readStored, writeStored } from "./storage";

const chosen = readStored("language");
const ofBrowser: Language = navigator.language.startsWith("zh") ? "zh" : "en";

export const language = signal<Language>(chosen === "en" || chosen === "zh" ? chosen : ofBrowser);
export const isLanguageChosen = signal(chosen === "en" || chosen === "zh");

export function say(en: string, zh: string): string {
  return language.value === "zh" ? zh : en;
}

export function chooseLanguage(to: Language): void {
  writeStored("language", to);
  isLanguageChosen.value = true;
  language.value = to;
}

/** Speak the language of what is shown, unless the reader chose one. */
export function followLanguage(of: Language | undefined): void {
  if (!isLanguageChosen.value) language.value = of ?? ofBrowser;
}
