import type { CodeLanguage } from '../code/language.ts';

/** As much of JSON Schema as the forms of the API use. */
export interface Schema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  const?: unknown;
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  allOf?: readonly { if?: Schema; then?: Schema }[];
  'x-secret'?: boolean;
}

/** As much of JSONForms as the forms of the API use. */
export interface Layout {
  type: string;
  label?: string;
  scope?: string;
  elements?: readonly Layout[];
  options?: { format?: string; multi?: boolean; language?: CodeLanguage };
  rule?: { effect: string; condition: { scope: string; schema: Schema } };
}

type Value = Readonly<Record<string, unknown>>;

/** `#/properties/a/properties/b` is a field `b` in a field `a`. */
export function partOf(scope: string): string[] {
  return scope.split('/properties/').slice(1).map(unescaped);
}

/** Fields that depend on another one are described beside it. */
export function schemaAt(schema: Schema, [name, ...rest]: readonly string[]): Schema {
  if (name === undefined) return schema;
  const conditional = schema.allOf?.map(({ then }) => then?.properties?.[name]).find((one) => one !== undefined);
  return schemaAt(schema.properties?.[name] ?? conditional ?? {}, rest);
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), value);
}

/** The same value with another field; an undefined one is left out. */
export function withValueAt(value: Value, [name = '', ...rest]: readonly string[], field: unknown): Value {
  const inner = value[name];
  const next = rest.length === 0 ? field : withValueAt(isObject(inner) ? inner : {}, rest, field);
  const { [name]: _, ...others } = value;
  // In its old place, so that what is saved differs in one field alone.
  if (next === undefined) return others;
  return name in value ? { ...value, [name]: next } : { ...others, [name]: next };
}

/** Whether the condition of an element holds. */
export function shows({ rule }: Layout, schema: Schema, value: Value): boolean {
  if (!rule) return true;
  const path = partOf(rule.condition.scope);
  const given = valueAt(value, path) ?? schemaAt(schema, path).default;
  const { const: only, enum: some } = rule.condition.schema;
  const holds = some ? some.includes(given) : given === only;
  return rule.effect === 'HIDE' ? !holds : holds;
}

export function isObject(value: unknown): value is Value {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Whether queries by this form are SQL, whose plan a server can tell. */
export function hasPlan(schema: Schema | undefined): boolean {
  return schema?.properties?.query?.type === 'string' && schema.properties.url === undefined;
}
