import { ANY, type Shape } from '#shared/workflow/nodes/results.ts';
import type { Expression } from '#shared/workflow/templates/expressions.ts';
import { namesOf, type Part, type Path, partOf, type Root, roots } from '../../../page/bindings/expression.ts';
import { isObject } from '../../../ui/is-object.ts';
import { faultOfPath, resolvePath } from '../../../values/check.ts';
import type { Key, Value, ValueGroup, Values } from '../../../values/value.ts';
import { type ChosenRow, pathOfChosen } from './chosen-rows.ts';

/** All that expressions of a page can name, with the present value of each. */
export interface Nameable {
  queries: readonly Named[];
  workflows: readonly Named[];
  variables: readonly Named[];
  widgets: readonly Named[];
  viewer: Readonly<Record<string, unknown>> | undefined;
  page: Readonly<Record<string, unknown>> | undefined;
  /** The known parts of the event, for actions and for inputs of what they run. */
  event?: Shape | undefined;
  chosenRows?: readonly ChosenRow[];
}

export interface Named {
  name: string;
  note?: string | undefined;
  /** Undefined: not known. */
  value: unknown;
}

const TEXT: Shape = { type: 'text' };
const YES_OR_NO: Shape = { type: 'yes or no' };

const shapes: Partial<Record<Root, Shape>> = {
  queries: {
    type: 'object',
    fields: {
      data: { ...ANY, note: 'What the query answers' },
      rowCount: { type: 'number', note: 'How many rows it has' },
      isLoading: { ...YES_OR_NO, note: 'Whether it is being read' },
      isStale: { ...YES_OR_NO, note: 'Whether newer data are being read' },
      status: { ...TEXT, note: 'idle, loading, ready or failed' },
      error: { type: 'object', fields: { message: TEXT, code: TEXT } },
    },
  },
  workflows: {
    type: 'object',
    fields: {
      output: { ...ANY, note: 'Result of the latest run' },
      isRunning: { ...YES_OR_NO, note: 'Whether its latest run has not ended' },
      status: { ...TEXT, note: 'Of the latest run' },
      error: { type: 'object', fields: { message: TEXT, code: TEXT } },
      steps: { type: 'list', items: ANY },
    },
  },
};

const VIEWER: Shape = { type: 'object', fields: { email: TEXT, name: TEXT, userID: TEXT }, isClosed: true };
const PAGE: Shape = {
  type: 'object',
  fields: { id: TEXT, title: TEXT, params: { type: 'object', note: 'Parameters of the address' } },
  isClosed: true,
};

/** The values of a page for fields with expressions: for the picker, for completion, and to find names that are not there. */
export function pageValues(nameable: Nameable): Values {
  const { viewer, page, event, chosenRows = [] } = nameable;
  const own = (root: 'queries' | 'workflows' | 'variables' | 'widgets'): Value[] =>
    nameable[root].map(({ name, note, value }) => ({
      ...{ path: [root, name], name, note, sample: value, shape: shapes[root] ?? ANY },
    }));
  const whole = (root: Root, shape: Shape, sample: unknown): Value => ({ path: [root], name: root, shape, sample });
  const widgets = own('widgets').map((one) => withChosenRow(one, chosenRows));
  // Those that are only looked at have nothing to name.
  const [silent, telling] = [widgets.filter(isSilent), widgets.filter((one) => !isSilent(one))];
  const viewerValue = whole('viewer', VIEWER, viewer);
  const groups: ValueGroup[] = [
    ...(event ? [{ title: 'Event', values: [whole('event', event, undefined)] }] : []),
    ...chosenRows.map((row) => ({ title: `Chosen row of ${row.title}`, values: valuesOfRow(row, widgets) })),
    { title: 'Data', values: own('queries') },
    { title: 'Workflows', values: own('workflows') },
    { title: 'Variables', values: own('variables') },
    { title: 'Widgets', values: telling },
    { title: 'Viewer and page', values: [viewerValue, whole('page', PAGE, page)] },
    { title: 'Widgets without a value now', values: silent },
  ];
  const known = roots.filter((root) => (root !== 'event' || event !== undefined) && root !== 'row');
  const values: Values = {
    ...{ input: viewerValue, groups: groups.filter((group) => group.values.length > 0) },
    ...{ source: 'page', roots: known, elsewhere: new Map(), open: new Set(event ? ['event'] : []) },
  };
  return { ...values, faultOf: (expression) => faultOf(expression, values) };
}

const NOT_YET = 'Once a row is chosen';

/** A table, of whose chosen row the columns are known before there is one. */
function withChosenRow(table: Value, rows: readonly ChosenRow[]): Value {
  const row = rows.find(({ name }) => name === table.name);
  if (!row) return table;
  const fields = Object.fromEntries(row.columns.map((column) => [column, { ...ANY, note: NOT_YET }]));
  const { sample } = table;
  const isNone = isObject(sample) && (sample.selectedRow ?? null) === null;
  return {
    ...table,
    shape: { type: 'object', fields: { selectedRow: { type: 'object', note: NOT_YET, fields } } },
    sample: isNone ? { ...sample, selectedRow: undefined } : sample,
  };
}

function valuesOfRow({ name, columns }: ChosenRow, widgets: readonly Value[]): Value[] {
  const table = widgets.find((one) => one.name === name);
  const row = isObject(table?.sample) ? table.sample.selectedRow : undefined;
  return columns.map((column) => ({
    ...{ path: pathOfChosen(name, column), name: column, shape: ANY, note: NOT_YET },
    sample: isObject(row) ? row[column] : undefined,
  }));
}

function isSilent({ sample, shape }: Value): boolean {
  return shape === ANY && (sample === undefined || (isObject(sample) && Object.keys(sample).length === 0));
}

/** Why an expression of the page cannot have a value; undefined if it may have one. */
function faultOf(expression: Expression, values: Values): string | undefined {
  const part = partOf(expression);
  if (part.kind === 'fault') return `“${part.source}” ${part.message}`;
  const paths = pathsIn(part);
  for (const path of paths) {
    const message = isUnsure(path, values) ? undefined : faultOfPath(path, values);
    if (message !== undefined) return message;
  }
  return undefined;
}

/** The paths of an expression, of code the names alone. */
function pathsIn(part: Part): Key[][] {
  if (part.kind === 'path') {
    const given = part.filters.flatMap(({ args }) => args.flatMap((arg) => ('path' in arg ? [arg.path] : [])));
    return [part.path, ...given].map(({ root, keys }: Path) => [root, ...keys]);
  }
  return namesOf(part).flatMap(({ root, key }) => (IN_CODE.has(root) && key !== null ? [[root, key]] : []));
}

/** In code, the other roots may be names of its own, such as that of a row. */
const IN_CODE: ReadonlySet<Root> = new Set(['queries', 'workflows', 'variables', 'widgets']);

/** Whether a part that is missing now may be there later: that of an empty value, of a row, or of what a widget has not shown yet. */
function isUnsure(path: readonly Key[], values: Values): boolean {
  const found = resolvePath(path, values);
  if (!found || found.missing === undefined || found.value === undefined) return false;
  const { sample, path: at } = found.value;
  if (at[0] === 'widgets' || at.length > 2) return true;
  return sample !== undefined && (!isObject(sample) || Object.keys(sample).length === 0);
}
