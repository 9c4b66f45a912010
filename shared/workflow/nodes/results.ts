/** Shapes of the results of kinds, as configs declare them. Without imports, since the pages of the console run it. */

/** The types of values, as people say them. */
export type TypeName = 'text' | 'number' | 'yes or no' | 'object' | 'list' | 'empty' | 'any value';

/** The declared form of a value that no run has shown yet. */
export interface Shape {
  type: TypeName;
  fields?: Readonly<Record<string, Shape>>;
  items?: Shape;
  /** There are no fields but those that are declared. */
  isClosed?: boolean;
  note?: string | undefined;
}

type Config = Readonly<Record<string, unknown>>;

export const ANY: Shape = { type: 'any value' };

/** The shape of the result of a step that has not run yet, by its config. */
export function resultShape(type: string, data: Config): Shape {
  return Object.hasOwn(shapes, type) ? (shapes[type]?.(data) ?? ANY) : ANY;
}

const TEXT: Shape = { type: 'text' };
const NUMBER: Shape = { type: 'number' };
const YES_OR_NO: Shape = { type: 'yes or no' };

const shapes: Readonly<Record<string, (data: Config) => Shape>> = {
  http: ({ responseType }) => (responseType === 'text' || responseType === 'base64' ? TEXT : ANY),
  set: ({ assignments }) => ({
    type: 'object',
    fields: Object.fromEntries(assignmentsOf(assignments).map(({ name, value }) => [name, shapeOf(value)])),
    isClosed: true,
  }),
  loop: () => ({ type: 'list', items: ANY }),
  map: ({ collectResults }) => (collectResults === false ? { type: 'empty' } : { type: 'list', items: ANY }),
  approval: () => ({
    type: 'object',
    fields: { approved: YES_OR_NO, comment: TEXT, expired: { ...YES_OR_NO, note: 'Only if no answer came in time' } },
    isClosed: true,
  }),
  dataCollection: ({ fields, formSchema }) => (isObject(formSchema) ? schemaShape(formSchema) : answerShape(fields)),
  ai: ({ outputSchema }) => (isObject(outputSchema) ? schemaShape(outputSchema) : TEXT),
  subWorkflow: () => ({ type: 'object' }),
  join: ({ sourceVariables }) => ({
    type: 'object',
    fields: Object.fromEntries(textsIn(sourceVariables).map((name) => [name, ANY])),
    isClosed: true,
  }),
};

/** The values that a step puts into `ctx` beside its result. */
export function assignmentsOf(list: unknown): { name: string; value: unknown }[] {
  const rows: unknown[] = Array.isArray(list) ? list : [];
  return rows.flatMap((row) =>
    isObject(row) && typeof row.name === 'string' && row.name !== '' ? [{ name: row.name, value: row.value }] : [],
  );
}

function textsIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((one): one is string => typeof one === 'string') : [];
}

function answerShape(fields: unknown): Shape {
  const rows: unknown[] = Array.isArray(fields) ? fields : [];
  const all = rows.flatMap((row): [string, Shape][] => {
    if (!isObject(row) || typeof row.key !== 'string') return [];
    const note = typeof row.label === 'string' ? row.label : undefined;
    const type = row.fieldType === 'number' ? NUMBER : row.fieldType === 'checkbox' ? YES_OR_NO : TEXT;
    return [[row.key, { ...type, note }]];
  });
  return { type: 'object', fields: Object.fromEntries(all), isClosed: true };
}

/** The shape of a value that is written down; a template may become anything. */
export function shapeOf(value: unknown): Shape {
  if (typeof value === 'string') return value.includes('{{') ? (/^\{\{[^}]*\}\}$/.test(value) ? ANY : TEXT) : TEXT;
  if (typeof value === 'number') return NUMBER;
  if (typeof value === 'boolean') return YES_OR_NO;
  if (Array.isArray(value)) return { type: 'list', items: value.length > 0 ? shapeOf(value[0]) : ANY };
  if (!isObject(value)) return ANY;
  const fields = Object.entries(value).map(([key, part]): [string, Shape] => [key, shapeOf(part)]);
  return { type: 'object', fields: Object.fromEntries(fields), isClosed: true };
}

/** Types of JSON Schema and of declared inputs. */
const types: Readonly<Record<string, Shape['type']>> = {
  ...{ string: 'text', number: 'number', integer: 'number', boolean: 'yes or no', null: 'empty' },
  ...{ object: 'object', array: 'list', date: 'text', datetime: 'text', choice: 'text' },
};

/** Schemas that lie deeper in each other are not followed. */
const MAX_DEPTH = 6;

/** The shape that a JSON Schema declares. */
export function schemaShape(schema: Config, depth = 0): Shape {
  const { type, properties, items, description, additionalProperties } = schema;
  const named = typeof type === 'string' && Object.hasOwn(types, type) ? types[type] : undefined;
  const note = typeof description === 'string' ? description : undefined;
  if (depth === MAX_DEPTH) return { type: named ?? 'any value', note };
  const fields = isObject(properties)
    ? Object.fromEntries(
        Object.entries(properties).map(([key, part]) => [key, isObject(part) ? schemaShape(part, depth + 1) : ANY]),
      )
    : undefined;
  return {
    type: named ?? (fields ? 'object' : 'any value'),
    ...(fields && { fields }),
    ...(isObject(items) && { items: schemaShape(items, depth + 1) }),
    ...(additionalProperties === false && { isClosed: true }),
    note,
  };
}

/** The input of a run: the declared ones alone, or any where none is declared. */
export function inputShape(definitions: unknown): Shape {
  const rows: unknown[] = Array.isArray(definitions) ? definitions : [];
  const all = rows.flatMap((row): [string, Shape][] => {
    if (!isObject(row) || typeof row.key !== 'string') return [];
    const note = [row.label, row.title, row.description].find((text): text is string => typeof text === 'string');
    return [[row.key, { type: (typeof row.type === 'string' && types[row.type]) || 'any value', note }]];
  });
  return all.length > 0 ? { type: 'object', fields: Object.fromEntries(all), isClosed: true } : { type: 'object' };
}

function isObject(value: unknown): value is Config {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
