// What comes over the wire, without characters that hide text or reverse its order: lists carry words as they were written.
const UNSAFE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu;
/** In JSON, control characters are always escaped. */
const SUSPECT = /\\u|(?![\n\t\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/u;

function clean(value: unknown): unknown {
  if (typeof value === "string") return value.replace(UNSAFE, "");
  if (Array.isArray(value)) return value.map(clean);
  if (typeof value === "object" && value !== null) return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, clean(each)]));
  return value;
}

export function parseClean(json: string): unknown {
  const value: unknown = JSON.parse(json);
  return SUSPECT.test(json) ? clean(value) : value;
}
