import type { Schemas } from '../../client/types.ts';
import { kindOf } from '../../database/cells.ts';
import { quoted } from '../../query/quoted.ts';
import { type Column, hasOrder, isSearched } from './columns.ts';

type Table = Schemas['DatabaseTable'];
type Values = Readonly<Record<string, unknown>>;

/** The text of a query, with its declared inputs. */
interface Options extends Values {
  query: string;
  inputDefinitions: readonly Values[];
}

const MAX_SEARCHED = 20;
const MAX_ORDERS = 30;

/** One page of the rows that a search and filters find, in the order that a table asks for. */
export function rowsSQL(table: Table, columns: readonly Column[], filters: readonly Column[]): Options {
  const orders = columns.filter(hasOrder).slice(0, MAX_ORDERS);
  const keys = columns.filter(({ isKey }) => isKey);
  const last = (keys.length > 0 ? keys : orders).map(({ name }) => quoted(name));
  const chosen = orders.flatMap(({ name }) =>
    ['asc', 'desc'].map(
      (direction) =>
        `case when {{inputs.order}}::text = ${literal(`${name} ${direction}`)} then ${quoted(name)} end ${direction} nulls last`,
    ),
  );
  const order = [...chosen, ...last];
  return {
    query: [
      `select ${columns.map(({ name }) => quoted(name)).join(', ')}`,
      `from ${nameOf(table)}`,
      ...conditions(columns, filters),
      ...(order.length > 0 ? [`order by ${order.join(',\n  ')}`] : []),
      'limit {{inputs.limit}} offset {{inputs.offset}}',
    ].join('\n'),
    inputDefinitions: [
      ...choosing(filters),
      { key: 'order', type: 'string' },
      { key: 'limit', type: 'integer', default: 20 },
      { key: 'offset', type: 'integer', default: 0 },
    ],
  };
}

export function countSQL(table: Table, columns: readonly Column[], filters: readonly Column[]): Options {
  return {
    query: ['select count(*) as count', `from ${nameOf(table)}`, ...conditions(columns, filters)].join('\n'),
    inputDefinitions: choosing(filters),
  };
}

/** The values that a column has, for a choice. */
export function valuesSQL(table: Table, { name }: Column): Options {
  const column = quoted(name);
  return {
    query: `select distinct ${column}\nfrom ${nameOf(table)}\nwhere ${column} is not null\norder by ${column}\nlimit 200`,
    inputDefinitions: [],
  };
}

/** A value that is left empty is null, or the default where that is computed. */
export function insertSQL(table: Table, columns: readonly Column[]): Options {
  const name = nameOf(table);
  if (columns.length === 0) return { query: `insert into ${name} default values\nreturning *`, inputDefinitions: [] };
  const values = columns.map(({ input, computed }) =>
    computed === undefined ? inputOf(input) : `coalesce(${inputOf(input)}, ${computed})`,
  );
  return {
    query: `insert into ${name} (${columns.map((one) => quoted(one.name)).join(', ')})\nvalues (${values.join(', ')})\nreturning *`,
    inputDefinitions: columns.map(definitionOf),
  };
}

export function updateSQL(table: Table, keys: readonly Column[], changed: readonly Column[]): Options {
  const sets = changed.map(({ name, input }) => `${quoted(name)} = ${inputOf(input)}`);
  return {
    query: `update ${nameOf(table)}\nset ${sets.join(',\n    ')}\nwhere ${isRow(keys)}\nreturning *`,
    inputDefinitions: [...keys.map(keyDefinition), ...changed.map(definitionOf)],
  };
}

export function deleteSQL(table: Table, keys: readonly Column[]): Options {
  const returned = keys.map(({ name }) => quoted(name)).join(', ');
  return {
    query: `delete from ${nameOf(table)}\nwhere ${isRow(keys)}\nreturning ${returned}`,
    inputDefinitions: keys.map(keyDefinition),
  };
}

export function filterInput({ input }: Column): string {
  return `only_${input}`;
}

function conditions(columns: readonly Column[], filters: readonly Column[]): string[] {
  const searched = columns
    .filter(isSearched)
    .slice(0, MAX_SEARCHED)
    .map(({ name }) => quoted(name));
  const all = [
    ...(searched.length > 0
      ? [
          `(coalesce({{inputs.search}}::text, '') = '' or strpos(lower(concat_ws(' ', ${searched.join(', ')})), lower({{inputs.search}}::text)) > 0)`,
        ]
      : []),
    // As text, so that an empty choice needs no value of the type of the column.
    ...filters.map((one) => {
      const input = inputOf(filterInput(one));
      return `(${input}::text is null or ${quoted(one.name)}::text = ${input}::text)`;
    }),
  ];
  return all.length > 0 ? [`where ${all.join('\n  and ')}`] : [];
}

function choosing(filters: readonly Column[]): Values[] {
  return [{ key: 'search', type: 'string' }, ...filters.map((one) => ({ key: filterInput(one), type: 'string' }))];
}

function isRow(keys: readonly Column[]): string {
  return keys.map(({ name, input }) => `${quoted(name)} = ${inputOf(input)}`).join(' and ');
}

/** Without a type, values are sent as they are, and the database makes them those of the column. */
function definitionOf({ input, label, given }: Column): Values {
  return { key: input, title: label, ...(kindOf(given) === 'boolean' && { type: 'boolean' }) };
}

function keyDefinition({ input, label }: Column): Values {
  return { key: input, title: label, required: true };
}

function nameOf({ databaseSchemaName: schema, databaseTableName: name }: Table): string {
  return schema === 'public' ? quoted(name) : `${quoted(schema)}.${quoted(name)}`;
}

function inputOf(input: string): string {
  return `{{inputs.${input}}}`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
