import type { Schemas } from '../../client/types.ts';
import { kindOf } from '../../database/cells.ts';
import { type Column, columnsOf, fieldOf, hasField, isFilter, shownColumn } from './columns.ts';
import { hasTemplate, labelOf, type Part, type Plan, Planning, pathTo } from './plan.ts';
import { countSQL, deleteSQL, filterInput, insertSQL, rowsSQL, updateSQL, valuesSQL } from './table-sql.ts';

type Table = Schemas['DatabaseTable'];

/** The changes of rows that people may make on the page. */
export interface Doing {
  add: boolean;
  change: boolean;
  remove: boolean;
}

/** Changes that are possible at all: fewer in a table without a key, and none in a view. */
export function possibleWith(table: Table): Doing {
  const isView = /view/i.test(table.databaseTableType);
  const columns = columnsOf(table);
  const hasKey = table.primaryKey.length > 0 && columns.filter(({ isKey }) => isKey).length === table.primaryKey.length;
  return {
    add: !isView,
    change: !isView && hasKey && changedIn(columns).length > 0,
    remove: !isView && hasKey,
  };
}

/** Columns whose values no form of the page has. */
export function withoutField(table: Table): string[] {
  const named = columnsOf(table);
  const names = new Set(named.filter(hasField).map(({ name }) => name));
  return table.databaseTableColumns.map((one) => one.databaseTableColumnName).filter((name) => !names.has(name));
}

const MAX_COLUMNS = 8;
const MAX_FILTERS = 4;
const ROW = 'widgets.rows.selectedRow';
/** Whether no row is chosen, and whether one is. */
const NONE = `{{${ROW} | count | equals: 0}}`;
const SOME = `{{${ROW} | count | yesno: "true", "false"}}`;

interface Wanted {
  table: Table;
  title: string;
  doing: Doing;
  newID: () => string;
}

/** A list of the rows of a table with a search, filters and pages; the chosen row, and forms to add and change rows. */
export function pageOfTable({ table, title, doing, newID }: Wanted): Plan {
  const columns = columnsOf(table).filter(({ given }) => given.databaseTableColumnType !== 'bytea');
  const planning = new Planning(newID);
  const filters = columns.filter(isFilter).slice(0, MAX_FILTERS);
  const possible = possibleWith(table);
  const may = (name: keyof Doing) => doing[name] && possible[name];
  const follows = followed((['add', 'change', 'remove'] as const).filter(may));
  const list = planRows(planning, { table, title, columns, filters, follows });
  const choices = filters.map((one) => planFilter(planning, { table, title, column: one, follows }));
  const keys = columns.filter(({ isKey }) => isKey);
  const wanted = { table, title, columns, keys };
  const tabs = [
    { key: 'row', label: 'Row', parts: planRow(planning, { ...wanted, isRemoved: may('remove') }) },
    ...(may('change') ? [{ key: 'change', label: 'Change', parts: planChange(planning, wanted) }] : []),
    ...(may('add') ? [{ key: 'add', label: 'Add', parts: planAdd(planning, wanted) }] : []),
  ];
  const side = planning.widget(
    'side',
    'tabs',
    { title: 'One row', properties: { tabs: tabs.map(({ key, label }) => ({ key, label })), defaultTab: 'row' } },
    { children: tabs.flatMap(({ key, parts }) => parts.map((part) => ({ ...part, tab: key }))) },
  );
  return planning.plan(title, `Rows of the table ${table.databaseTableName}.`, [
    ...(choices.length > 0 ? [planning.row(...choices.map((part) => ({ ...part, span: 3 })))] : []),
    planning.row({ ...list, span: 8 }, planning.column([side], { span: 4 })),
  ]);
}

/** All that is read of the table is read again once one of these has ended. */
function followed(names: readonly string[]) {
  return names.length > 0 ? { refreshOn: names.map((name) => `queries.${name}.status`) } : {};
}

interface Shown {
  table: Table;
  title: string;
  columns: readonly Column[];
}

interface Following {
  follows: ReturnType<typeof followed>;
}

function planRows(
  planning: Planning,
  { table, title, columns, filters, follows }: Shown & Following & { filters: readonly Column[] },
): Part {
  const chosen = {
    search: '{{widgets.rows.search}}',
    ...Object.fromEntries(filters.map((one) => [filterInput(one), `{{widgets.${nameOfFilter(one)}.value}}`])),
  };
  planning.query('rows', `${title}: rows`, {
    options: rowsSQL(table, columns, filters),
    triggerMode: 'reactive',
    ...follows,
    inputValues: {
      ...chosen,
      order: '{{widgets.rows.sortKey}} {{widgets.rows.sortDirection}}',
      limit: '{{widgets.rows.pageSize}}',
      offset: '{{widgets.rows.offset}}',
    },
  });
  planning.query('count', `${title}: how many`, {
    options: countSQL(table, columns, filters),
    triggerMode: 'reactive',
    ...follows,
    inputValues: chosen,
  });
  return planning.widget('rows', 'table', {
    title: labelOf(table.databaseTableName),
    properties: {
      ...{ items: '{{queries.rows.data}}', total: '{{queries.count.data[0].count}}', pageSize: 20 },
      ...{ isSearchable: true, isSelectable: true },
      columns: columns
        .map(shownColumn)
        .map((column, at) => ({ ...column, ...(at >= MAX_COLUMNS && { isHidden: true }) })),
    },
    // Values that were typed for another row must not be saved for this one.
    events: { onRowSelect: [{ type: 'CALL_WIDGET_METHOD', widgetKey: 'change', method: 'clear' }] },
  });
}

function nameOfFilter(column: Column): string {
  return `filter_${column.input}`;
}

type Filter = Omit<Shown, 'columns'> & Following & { column: Column };

function planFilter(planning: Planning, { table, title, column, follows }: Filter): Part {
  const { given, label, name } = column;
  const alias = `values_${column.input}`;
  const kind = kindOf(given);
  if (kind === 'text')
    planning.query(alias, `${title}: values of ${name}`, {
      options: valuesSQL(table, column),
      triggerMode: 'auto',
      ...follows,
    });
  const yesOrNo = [
    { label: 'Yes', value: 'true' },
    { label: 'No', value: 'false' },
  ];
  const fixed = kind === 'boolean' ? yesOrNo : (given.enumValues ?? []).filter((one) => !hasTemplate(one));
  const options = kind === 'text' ? `{{queries.${alias}.data}}` : fixed;
  return planning.widget(nameOfFilter(column), 'select', {
    title: label,
    properties: { label, placeholder: 'All', options },
  });
}

interface OfRow extends Shown {
  keys: readonly Column[];
}

function planRow(
  planning: Planning,
  { columns, keys, title, table, isRemoved }: OfRow & { isRemoved: boolean },
): Part[] {
  const none = planning.widget('none', 'text', {
    title: 'No row is chosen',
    properties: { content: 'Choose a row in the list to see all of it here.', isHidden: SOME },
  });
  const values = planning.widget('row', 'key-value', {
    title: 'Row',
    properties: {
      values: `{{${ROW}}}`,
      columns: columns.map(shownColumn),
      isHidden: NONE,
    },
  });
  if (!isRemoved) return [none, values];
  planning.query('remove', `${title}: delete a row`, {
    options: deleteSQL(table, keys),
    triggerMode: 'manual',
    inputValues: keyValues(keys),
  });
  const remove = planning.widget('remove', 'button', {
    title: 'Delete',
    properties: {
      ...{ label: 'Delete', variant: 'danger', isHidden: NONE },
      confirmation: 'Delete this row? It cannot be brought back.',
    },
    events: { onClick: actionsOf('remove', 'Deleted') },
  });
  return [none, values, remove];
}

function planChange(planning: Planning, { table, title, columns, keys }: OfRow): Part[] {
  const changed = changedIn(columns);
  planning.query('change', `${title}: change a row`, {
    options: updateSQL(table, keys, changed),
    triggerMode: 'manual',
    inputValues: { ...keyValues(keys), ...enteredValues(changed) },
  });
  const hint = planning.widget('none_to_change', 'text', {
    title: 'No row is chosen',
    properties: { content: 'Choose a row in the list to change it here.', isHidden: SOME },
  });
  const form = planning.widget('change', 'form', {
    title: 'Change the row',
    properties: { fields: changed.map((one) => fieldOf(one, ROW)), submitLabel: 'Save', isHidden: NONE },
    events: { onSubmit: actionsOf('change', 'Saved') },
  });
  return [hint, form];
}

function planAdd(planning: Planning, { table, title, columns }: OfRow): Part[] {
  const given = columns.filter((one) => !one.isFilled && hasField(one));
  planning.query('add', `${title}: add a row`, {
    options: insertSQL(table, given),
    triggerMode: 'manual',
    inputValues: enteredValues(given),
  });
  return [
    planning.widget('add', 'form', {
      title: 'Add a row',
      properties: { fields: given.map((one) => fieldOf(one, undefined)), submitLabel: 'Add', isReset: true },
      events: { onSubmit: actionsOf('add', 'Added') },
    }),
  ];
}

/** Runs the query, and says whether it has found the row. What is read of the table follows its state. */
function actionsOf(alias: string, done: string) {
  const isDone = '{{event.result | count | equals: 1 | yesno:';
  return [
    { type: 'EXECUTE_QUERY', alias },
    {
      ...{ type: 'SHOW_TOAST', message: `${isDone} "${done}", "This row is not there any more"}}` },
      variant: `${isDone} "success", "warning"}}`,
    },
  ];
}

function changedIn(columns: readonly Column[]): Column[] {
  return columns.filter((one) => !one.isKey && !one.given.isGenerated && hasField(one));
}

function keyValues(keys: readonly Column[]) {
  return Object.fromEntries(keys.map(({ name, input }) => [input, pathTo(ROW, name)]));
}

function enteredValues(columns: readonly Column[]) {
  return Object.fromEntries(columns.map(({ input }) => [input, `{{event.values.${input}}}`]));
}
