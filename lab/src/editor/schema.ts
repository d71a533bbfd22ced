// What the JSON Schema says about a place of a scenario: keys, choices, types, defaults and descriptions.

import type { Step } from "./toml";

/** The keywords that the schema of scenarios uses. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

/** One alternative of a value, without references and without `null`. */
export interface Alternative {
  schema: JsonSchema;
  /** The name of its definition, such as `Rate`. */
  name: string | undefined;
}

/** A key or an element of a list. */
export interface Described {
  key: string;
  alternatives: Alternative[];
  description: string;
  default: unknown;
  required: boolean;
}

/** A name that a value may have. */
export interface Named {
  /** The value: text, a number or a boolean. */
  value: string | number | boolean;
  description: string;
}

/** Deeper than the schema nests; ends references that go in a circle. */
const DEEPEST = 24;

export class Schema {
  constructor(readonly root: JsonSchema) {}

  /** Resolves references and choices. */
  alternatives(schema: JsonSchema, name?: string, depth = 0): Alternative[] {
    if (depth > DEEPEST) {
      return [];
    }
    if (schema.$ref !== undefined) {
      const target = schema.$ref.replace("#/$defs/", "");
      const found = this.root.$defs?.[target];
      return found ? this.alternatives(found, target, depth + 1) : [];
    }
    const choices = [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
    if (choices.length > 0) {
      return choices.flatMap(choice => this.alternatives(choice, choice.$ref ? undefined : name, depth + 1));
    }
    return schema.type === "null" ? [] : [{ schema, name }];
  }

  /** The keys of a table that is one of these alternatives and has the keys `present`. */
  keys(alternatives: Alternative[], present: string[] = []): Described[] {
    const found = new Map<string, Described>();
    // Keys that no alternative knows, such as those with a typing error, exclude none.
    const known = present.filter(key => alternatives.some(({ schema }) => schema.properties?.[key]));
    for (const { schema } of alternatives.filter(({ schema }) => allows(schema, known))) {
      for (const [key, property] of Object.entries(schema.properties ?? {})) {
        const described = this.described(key, property, schema.required?.includes(key) ?? false);
        // A table with a single key is a choice: its description is that of the choice.
        const isChoice = schema.required?.length === 1 && Object.keys(schema.properties ?? {}).length === 1;
        if (isChoice && schema.description && !property.description) {
          described.description = schema.description;
          described.required = false;
        }
        found.set(key, found.get(key) ?? described);
      }
    }
    return [...found.values()];
  }

  /** The key `key` of these alternatives; elements of lists have the key of an index. */
  step(alternatives: Alternative[], step: Step): Described | undefined {
    const found: Described[] = [];
    for (const { schema } of alternatives) {
      if (schema.items && typeof step === "number") {
        found.push(this.described(String(step), schema.items, false));
      } else if (schema.items && typeof step === "string") {
        // The path of a header has no indices: `[flows.transport]`.
        const inside = this.step(this.alternatives(schema.items), step);
        found.push(...(inside ? [inside] : []));
      } else if (typeof step === "string") {
        const own = this.keys([{ schema, name: undefined }]).find(described => described.key === step);
        const other = schema.additionalProperties;
        if (own) {
          found.push(own);
        } else if (typeof other === "object") {
          found.push(this.described(step, other, false));
        }
      }
    }
    const [first] = found;
    return first && { ...first, alternatives: found.flatMap(described => described.alternatives) };
  }

  at(path: Step[]): Described | undefined {
    let described: Described | undefined = this.described("", this.root, false);
    for (const step of path) {
      described = this.step(described.alternatives, step);
      if (!described) {
        return undefined;
      }
    }
    return described;
  }

  private described(key: string, property: JsonSchema, required: boolean): Described {
    const alternatives = this.alternatives(property);
    const target = property.$ref === undefined ? undefined : this.root.$defs?.[property.$ref.replace("#/$defs/", "")];
    const [only] = alternatives;
    const description =
      property.description ?? target?.description ?? (alternatives.length === 1 && only?.schema.description);
    return { key, alternatives, description: description || "", default: property.default, required };
  }
}

/** Whether a table of this schema may have these keys. */
function allows(schema: JsonSchema, keys: string[]): boolean {
  const isOpen = schema.additionalProperties !== false;
  return isOpen || keys.every(key => schema.properties?.[key] !== undefined);
}

/** The names among the alternatives of a value: constants and enumerations, with the descriptions of the choices. */
export function names(alternatives: Alternative[]): Named[] {
  const found = new Map<unknown, Named>();
  const add = (value: unknown, description: string) => {
    const isName = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    if (isName && !found.has(value)) {
      found.set(value, { value, description });
    }
  };
  const choices = new Map<string, string>();
  for (const { schema } of alternatives) {
    const [key, ...others] = Object.keys(schema.properties ?? {});
    if (key !== undefined && others.length === 0 && schema.description) {
      choices.set(key, schema.description);
    }
  }
  for (const { schema } of alternatives) {
    if (schema.const !== undefined) {
      add(schema.const, schema.description ?? "");
    }
    for (const value of schema.enum ?? []) {
      add(value, choices.get(String(value)) ?? schema.description ?? "");
    }
    if (types(schema).includes("boolean")) {
      add(true, "");
      add(false, "");
    }
  }
  return [...found.values()];
}

export function types(schema: JsonSchema): string[] {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length === 0 && schema.properties) {
    return ["object"];
  }
  return types.filter(type => type !== "null");
}

export function isTable(alternative: Alternative): boolean {
  return types(alternative.schema).includes("object");
}

export function isList(alternative: Alternative): boolean {
  return types(alternative.schema).includes("array");
}

/** A quantity: text with a number and a unit, such as a rate. */
export interface Quantity {
  name: string;
  example: string;
  /** The usual spellings, the most usual first. */
  units: string[];
}

const UNITS = ["ms", "s", "us", "ns", "min", "h", "Mbps", "Gbps", "kbps", "bps", "packets", "B", "KB", "MB", "KiB"];

/** The quantity that this alternative is: its pattern is a number and a unit. */
export function quantity({ schema, name }: Alternative): Quantity | undefined {
  if (!schema.pattern?.includes("[0-9._]+") || name === undefined) {
    return undefined;
  }
  const pattern = new RegExp(schema.pattern, "u");
  const units = UNITS.filter(unit => pattern.test(`1 ${unit}`));
  const example = schema.description?.match(/"([^"]+)"/)?.[1] ?? `1 ${units[0] ?? ""}`;
  return {
    name: { Span: "time", QueueSize: "packets or bytes", Bytes: "size" }[name] ?? name.toLowerCase(),
    example,
    units,
  };
}

/** The type of a value in a few words: `rate, such as "100 Mbps"`. */
export function typeText(alternatives: Alternative[]): string {
  const parts = new Set<string>();
  const named = names(alternatives.filter(({ schema }) => !types(schema).includes("boolean")));
  if (named.length > 0) {
    const shown = named.slice(0, 6).map(({ value }) => JSON.stringify(value));
    parts.add(shown.join(", ") + (named.length > shown.length ? ", …" : ""));
  }
  for (const alternative of alternatives) {
    const { schema } = alternative;
    const of = quantity(alternative);
    if (of) {
      parts.add(`${of.name}, such as "${of.example}"`);
    } else if (schema.const === undefined && schema.enum === undefined) {
      for (const type of types(schema)) {
        parts.add(plainType(type, schema));
      }
    }
  }
  return [...parts].join(" or ");
}

function plainType(type: string, schema: JsonSchema): string {
  switch (type) {
    case "integer":
      return `integer${rangeText(schema)}`;
    case "number":
      return `number${rangeText(schema)}`;
    case "boolean":
      return "true or false";
    case "string":
      return "text";
    case "array":
      return "list";
    default:
      return "table";
  }
}

function rangeText({ minimum, maximum, exclusiveMinimum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) {
    return ` from ${minimum} to ${maximum}`;
  }
  if (exclusiveMinimum !== undefined) {
    return ` above ${exclusiveMinimum}`;
  }
  const least = minimum === undefined ? "" : ` of at least ${minimum}`;
  return maximum === undefined ? least : ` of at most ${maximum}`;
}

/** A value as TOML. */
export function toml(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(toml).join(", ")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, inner]) => `${key} = ${toml(inner)}`);
    return entries.length > 0 ? `{ ${entries.join(", ")} }` : "{}";
  }
  return JSON.stringify(value);
}

/** Bounds of a number, as far as the schema has them. */
export interface Bounds {
  least: number | undefined;
  most: number | undefined;
  integral: boolean;
}

/** The bounds of a bare number; undefined where the schema does not take one. */
export function bounds(alternatives: Alternative[]): Bounds | undefined {
  const numeric = alternatives.filter(({ schema }) =>
    types(schema).some(type => type === "integer" || type === "number"),
  );
  if (numeric.length === 0) {
    return undefined;
  }
  const least = numeric.map(({ schema }) => schema.minimum ?? schema.exclusiveMinimum);
  const most = numeric.map(({ schema }) => schema.maximum ?? schema.exclusiveMaximum);
  return {
    least: least.every(value => value !== undefined) ? Math.min(...(least as number[])) : undefined,
    most: most.every(value => value !== undefined) ? Math.max(...(most as number[])) : undefined,
    integral: numeric.every(({ schema }) => !types(schema).includes("number")),
  };
}
