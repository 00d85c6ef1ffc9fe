// A form from the schema of an answer, where a protocol brings no questions for people.
import { say } from "../language";
import type { Ask, PersonStep, Schema } from "../wire";

const TEXT_KEY = "words";

function findShape(schema: Schema): Schema {
  return schema.properties ? schema : (schema.anyOf?.find((each) => each.properties) ?? schema);
}

function dropNull(schema: Schema): Schema {
  return schema.anyOf?.find((each) => each.type !== "null") ?? schema;
}

export function deriveSteps(ask: Ask): PersonStep[] {
  const plain = { choices: [], default: "", group: "", onlyAfter: null } satisfies Partial<PersonStep>;
  if (ask.form === "text") {
    return [{ ...plain, key: TEXT_KEY, name: TEXT_KEY, text: say("What do you say?", "你想说什么？"), kind: "text", needed: true, long: true }];
  }
  const shape = findShape(ask.answerSchema);
  return Object.entries(shape.properties ?? {}).flatMap(([name, given]): PersonStep[] => {
    const schema = dropNull(given);
    const needed = shape.required?.includes(name) ?? false;
    const text = nameField(name);
    const values = schema.enum ?? (schema.const === undefined ? null : [schema.const]);
    // What has one value is not asked.
    if (values?.length === 1) return [];
    const base = { ...plain, key: name, name, text, needed, long: false };
    if (values) return [{ ...base, kind: "option", choices: values.map((each) => ({ value: String(each), text: nameField(String(each)) })) }];
    switch (schema.type) {
      case "boolean":
        return [{ ...base, kind: "option", choices: [{ value: "true", text: say("yes", "是") }, { value: "false", text: say("no", "否") }] }];
      case "number":
      case "integer":
        return [{ ...base, kind: schema.minimum === 0 && schema.maximum === 1 ? "confidence" : "number" }];
      case "string":
        return [{ ...base, kind: "text", long: (schema.maxLength ?? 10_000) > 300 }];
      case "array":
        return schema.items?.type === "string" ? [{ ...base, kind: "text", long: true, text: say(`${text} (one on each line)`, `${text}（每行一条）`) }] : [];
      default:
        return [];
    }
  });
}

export function buildAnswer(ask: Ask, given: Record<string, string>): string | Record<string, unknown> {
  if (ask.form === "text") return given[TEXT_KEY] ?? "";
  const shape = findShape(ask.answerSchema);
  const fields = shape.properties ?? {};
  const fixed = (shape.required ?? []).flatMap((name) => (fields[name]?.enum?.length === 1 ? [[name, fields[name]?.enum?.[0]]] : []));
  return Object.fromEntries([...fixed, ...Object.entries(given).map(([name, value]) => [name, convert(dropNull(fields[name] ?? {}), value)])]);
}

function convert(schema: Schema, value: string): unknown {
  switch (schema.type) {
    case "boolean":
      return value === "true";
    case "number":
    case "integer": {
      const number = Number.parseFloat(value);
      return value.includes("%") ? number / 100 : number;
    }
    case "array":
      return value.split("\n").map((line) => line.trim()).filter(Boolean);
    default:
      return value;
  }
}

/** The answer that says nothing, where the schema has one. */
export function findPass(ask: Ask): Record<string, unknown> | null {
  const shapes = ask.answerSchema.anyOf ?? [ask.answerSchema];
  return ask.form === "json" && shapes.some((shape) => shape.properties?.["type"]?.enum?.includes("pass")) ? { type: "pass" } : null;
}

function nameField(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
