import { encode } from '@jsonforms/core';
import { wordsOfKey } from './field-words.ts';
import { isObject } from './is-object.ts';

/** JSON Schema, whose keywords may be anything where a tenant wrote it. */
export type Schema = Readonly<Record<string, unknown>>;

/** An element of a layout for JSON Forms. */
export interface Layout {
  type: string;
  label?: string;
  scope?: string;
  elements?: readonly Layout[];
  options?: Readonly<Record<string, unknown>>;
}

/** A form for JSON Forms. */
export interface Form {
  schema: object;
  uischema: object;
}

export interface Choice {
  value: string;
  label: string;
}

export function propertiesOf({ properties }: Schema): Readonly<Record<string, Schema>> {
  const all = isObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(all.map(([name, property]) => [name, isObject(property) ? property : {}]));
}

export function requiredOf({ required }: Schema): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

/** The schema of each item, if a field for one can be drawn. */
export function itemsOf({ type, items }: Schema): Schema | undefined {
  if (type !== 'array' || !isObject(items)) return undefined;
  const isLine = ['string', 'number', 'integer'].includes(kindOf(items)) || takesText(items);
  return isLine || choicesOf(items) || hasFields(items) ? items : undefined;
}

/** Whether a value of the schema may be any text. */
export function takesText(schema: Schema): boolean {
  if (schema.const !== undefined || choicesOf(schema)) return false;
  return kindOf(schema) === 'string' || membersOf(schema).some(takesText);
}

/** Whether all values of the schema are texts. */
export function isTextual(schema: Schema): boolean {
  const members = membersOf(schema);
  return kindOf(schema) === 'string' || (members.length > 0 && members.every(isTextual));
}

/** Whether a value is one text or a list of texts. */
export function isOneOrMany(schema: Schema): boolean {
  const members = membersOf(schema);
  const lists = members.filter(({ type }) => type === 'array');
  const many = lists.length === 1 && lists.every(({ items }) => isObject(items) && takesText(items));
  return many && members.length === 2 && members.some(takesText);
}

/** Whether the author of an object chooses the names in it. */
export function isNamed(schema: Schema): boolean {
  if (kindOf(schema) !== 'object' || hasFields(schema)) return false;
  return isObject(schema.additionalProperties) && schema.contentMediaType !== 'application/json';
}

function membersOf({ anyOf }: Schema): readonly Schema[] {
  return Array.isArray(anyOf) ? anyOf.filter(isObject) : [];
}

export function hasFields(schema: Schema): boolean {
  return Object.keys(propertiesOf(schema)).length > 0;
}

/** The only type besides null; empty where there are several, or none is named. */
export function kindOf({ type }: Schema): string {
  const types = [type].flat().filter((one) => one !== 'null');
  return types.length === 1 ? String(types[0]) : '';
}

export interface Option extends Choice {
  /** The value that the field is set to, if it is not the value of the choice. */
  sets?: unknown;
}

/** The values that a field can be set to, if there are only a few. */
export function choicesOf({ enum: values, oneOf, anyOf, 'x-enumNames': names }: Schema): Option[] | undefined {
  const fixed = [oneOf, anyOf].find(
    (all): all is Record<string, unknown>[] => Array.isArray(all) && all.every(isFixed),
  );
  if (!fixed && !Array.isArray(values)) return undefined;
  const options = fixed
    ? fixed.map(({ const: sets, title }) => ({ sets, value: keyOf(sets), label: String(title ?? keyOf(sets)) }))
    : (values as unknown[]).map((sets, at) => ({ sets, value: keyOf(sets), label: nameAt(names, at) ?? keyOf(sets) }));
  // A list with a value twice cannot be shown.
  return options.filter(({ value }, at) => options.findIndex((one) => one.value === value) === at);
}

function isFixed(one: unknown): boolean {
  return isObject(one) && 'const' in one;
}

function nameAt(names: unknown, at: number): string | undefined {
  const name: unknown = Array.isArray(names) ? names[at] : undefined;
  return typeof name === 'string' ? name : undefined;
}

export function keyOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** All fields of an object, below or beside each other, but those that only older clients use. */
export function layoutOf(schema: Schema, type = 'VerticalLayout'): Layout {
  const fields = Object.entries(propertiesOf(schema)).filter(([, { deprecated }]) => deprecated !== true);
  const scopes = fields.map(([name]) => `#/properties/${encode(name)}`);
  return { type, elements: scopes.map((scope) => ({ type: 'Control', scope })) };
}

/** `#/properties/connectionOption` is "Connection option". */
export function wordsOf(scope: string): string {
  return wordsOfKey(nameOf(scope));
}

export function nameOf(scope: string): string {
  return scope
    .slice(scope.lastIndexOf('/') + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');
}

/** The types that the ids in a field name, by `x-reference`, and whether it takes several. */
export function referenceOf(schema: Schema): { types: readonly string[]; isMany: boolean } | undefined {
  const { anyOf } = schema;
  const parts = [schema, ...(Array.isArray(anyOf) ? anyOf.filter(isObject) : [])];
  const lists = parts.filter(({ type }) => type === 'array');
  const said = [...parts, ...lists.map((one) => one.items)].flatMap((one) =>
    isObject(one) && one['x-reference'] !== undefined ? [one['x-reference']] : [],
  );
  if (said.length === 0) return undefined;
  return { types: said.flat().map(String), isMany: lists.length > 0 };
}

/** The field whose inputs this one holds, by `x-inputs-of`. */
export function inputsFieldOf({ 'x-inputs-of': field }: Schema): string | undefined {
  return typeof field === 'string' ? field : undefined;
}
