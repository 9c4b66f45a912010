import type { Shape } from '#shared/apps/widgets/define-widget.ts';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import { invalidField } from '#shared/core/schema/issues.ts';

/** The result of a binding's query, with the settings of the binding. */
export interface BoundResult {
  title: string;
  parameters: JsonObject;
  datasetFields: Readonly<Record<string, string>>;
  result: Json;
}

type Shaper = (columns: readonly string[], bound: BoundResult) => Part;

/** Part of the data that one binding contributes; it depends on no other binding, so that one whose columns are wrong fails alone. */
export interface Part {
  dataset: Json;
  /** Sums by label, for the shape `categories`. */
  values?: ReadonlyMap<string, Category>;
}

interface Category {
  label: string | number;
  sum: number;
}

const shapers: Readonly<Record<Shape, Shaper>> = {
  categories: categoriesOf,
  points: pointsOf,
  bubbles: pointsOf,
  text: textOf,
  raw: (_columns, { result }) => ({ dataset: result }),
};

/** Shapes one result. Throws VALIDATION_ERROR, which names the field, if the result lacks a column that the binding names. */
export function partOf(shape: Shape, columns: readonly string[], bound: BoundResult): Part {
  return shapers[shape](columns, bound);
}

/** Joins the parts of all bindings, in their order, to `widgetData`; null stands for a binding that failed. */
export function join(shape: Shape, parts: readonly (Part | null)[]): Json {
  if (shape === 'raw') return parts.map((part) => part?.dataset ?? null);
  const good = parts.filter((part) => part !== null);
  if (shape === 'text') return { dataset: good.map(({ dataset }) => dataset), text: good.map(shownText).join('') };
  if (shape !== 'categories') return { datasets: good.map(({ dataset }) => dataset) };
  const labels = labelsOf(good);
  const datasets = good.map(({ dataset, values }) => ({
    ...(dataset as JsonObject),
    data: labels.map((label) => values?.get(keyOf(label))?.sum ?? 0),
  }));
  return { labels, datasets };
}

/** Numbers of rows with the same label are added up. */
function categoriesOf([x = '', y = '']: readonly string[], bound: BoundResult): Part {
  const { title, parameters } = bound;
  const values = new Map<string, Category>();
  const [xOf, yOf] = [columnOf(x, bound), columnOf(y, bound)];
  for (const [at, row] of rowsOf(bound).entries()) {
    const label = labelOf(valueAt(row, xOf));
    const number = numberOf(valueAt(row, yOf), yOf, at);
    const before = values.get(keyOf(label))?.sum ?? 0;
    values.set(keyOf(label), { label, sum: before + number });
  }
  return { dataset: { ...parameters, label: title }, values };
}

/** Names of the values of a point, in the order of the columns. */
const SHORT = ['x', 'y', 'r'] as const;

/** Rows without a number are left out. */
function pointsOf(columns: readonly string[], bound: BoundResult): Part {
  const bindings = columns.map((name) => columnOf(name, bound));
  const data = rowsOf(bound).flatMap((row, at) => {
    const values = bindings.map((binding) => valueAt(row, binding));
    if (values.some((value) => value === null)) return [];
    return [Object.fromEntries(values.map((value, n) => [SHORT[n] ?? 'x', pointOf(value, bindings[n], at)]))];
  });
  return { dataset: { ...bound.parameters, label: bound.title, data } };
}

function textOf([name = '']: readonly string[], bound: BoundResult): Part {
  const binding = columnOf(name, bound);
  const [row] = rowsOf(bound);
  return { dataset: { ...bound.parameters, text: row === undefined ? '' : wordsOf(valueAt(row, binding)) } };
}

function shownText({ dataset }: Part): string {
  return isJsonObject(dataset) && typeof dataset.text === 'string' ? dataset.text : '';
}

/** Limits that keep the shaping short, since it blocks the event loop. */
const MAX_ROWS = 50_000;
const MAX_LABELS = 10_000;

interface BoundColumn {
  /** The name of the field in `datasetFields`. */
  field: string;
  column: string;
}

function columnOf(field: string, { datasetFields }: BoundResult): BoundColumn {
  const column = Object.hasOwn(datasetFields, field) ? datasetFields[field] : undefined;
  if (!column) throw invalidField(`datasetFields.${field}`, 'is required: the name of a column of the result');
  return { field, column };
}

/** Rows of the result; a single object is one row. */
function rowsOf({ result }: BoundResult): JsonObject[] {
  const rows = isJsonObject(result) ? [result] : result;
  if (!Array.isArray(rows) || !rows.every(isJsonObject))
    throw invalidField('dataQueryID', 'the result of the query is no list of rows');
  if (rows.length <= MAX_ROWS) return rows;
  throw invalidField('dataQueryID', `the result has ${rows.length} rows, and a widget shows at most ${MAX_ROWS}`);
}

function valueAt(row: JsonObject, binding: BoundColumn | undefined): Json {
  const { column = '', field = '' } = binding ?? {};
  if (Object.hasOwn(row, column)) return row[column] ?? null;
  const names = Object.keys(row).slice(0, 20).map(quote).join(', ');
  throw invalidField(
    `datasetFields.${field}`,
    `there is no column ${quote(column)}; the result has ${names || 'none'}`,
  );
}

/** Reads a number, also from the text that servers send for types such as `numeric`. Null counts as 0. */
function numberOf(value: Json, { field, column }: BoundColumn, at: number): number {
  if (value === null) return 0;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  const message = `expected a number in the column ${quote(column)}, received ${quote(wordsOf(value))} in row ${at + 1}`;
  throw invalidField(`datasetFields.${field}`, message);
}

/** A value of a point. A date on the x axis stays a text, which charts can read. */
function pointOf(value: Json, binding: BoundColumn | undefined, at: number): Json {
  const isMoment = binding?.field === 'xAxis' && typeof value === 'string' && /^\d{4}-\d\d/.test(value);
  return isMoment || !binding ? value : numberOf(value, binding, at);
}

function labelOf(value: Json): string | number {
  return typeof value === 'number' ? value : wordsOf(value);
}

function keyOf(label: string | number): string {
  return String(label);
}

function wordsOf(value: Json): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}

/** All labels, sorted: by number if all are numbers, else by their characters. */
function labelsOf(parts: readonly Part[]): (string | number)[] {
  const all = new Map(parts.flatMap(({ values }) => [...(values ?? [])].map(([key, { label }]) => [key, label])));
  const labels = [...all.values()];
  if (labels.length > MAX_LABELS)
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `The chart has ${labels.length} labels, and at most ${MAX_LABELS} are shown`,
    );
  if (labels.every((label) => typeof label === 'number')) return labels.toSorted((one, other) => one - other);
  return labels.map(keyOf).toSorted((one, other) => (one < other ? -1 : Number(one > other)));
}
