import { describe, expect, test } from 'vitest';
import { formOf } from '#api/http/form.ts';
import type { Schema } from '#api/http/openapi/types.ts';
import { configOf, eventsOf } from '#shared/widgets/config.ts';
import { widgets } from '#shared/widgets/index.ts';

/** The contract's list, and the charts that the server computes. */
const described =
  `vega-lite vega button table text stat alert form image iframe date-picker date-range-picker html text-input select
  multi-select checkbox radio-group switch slider search-input file-upload divider tabs key-value json-viewer list badge
  progress timeline video code-block`.split(/\s+/);
const charts = 'bar bubble line pie polarArea radar scatter'.split(' ');

test('every type of the contract is described, each once', () => {
  expect(described).toHaveLength(32);
  expect(widgets.map(({ type }) => type).sort()).toEqual([...described, ...charts].sort());
});

test('the columns of the charts that are computed', () => {
  const columns = Object.fromEntries(
    widgets.filter(({ columns }) => columns.length > 0).map(({ type, columns }) => [type, columns.join(' ')]),
  );
  expect(columns).toEqual({
    bar: 'xAxis yAxis',
    line: 'xAxis yAxis',
    radar: 'xAxis yAxis',
    pie: 'label value',
    polarArea: 'label value',
    scatter: 'xAxis yAxis',
    bubble: 'xAxis yAxis radius',
    text: 'text',
  });
});

describe.each(widgets)('$type', (definition) => {
  const { schema, uischema } = formOf(configOf(definition));

  test('has a title and a description for every field, at any depth', () => {
    const fields = fieldsOf(schema, '');

    expect(fields.length).toBeGreaterThan(8);
    expect(fields.filter(({ field }) => !field.title || !field.description).map(({ path }) => path)).toEqual([]);
    expect(fields.filter(({ field, path }) => path.endsWith(`.${field.title}`)).map(({ path }) => path)).toEqual([]);
  });

  test('begins with valid properties, and lays out the parts of its config', () => {
    expect(definition.properties.strict().safeParse(definition.defaults).error).toBeUndefined();
    expect(JSON.stringify(uischema)).toContain('#/properties/properties/properties/');
    expect(JSON.stringify(uischema)).toContain('#/properties/dataQueries');
    expect(eventsOf(definition)).toEqual(expect.arrayContaining(['onClick', 'onRefresh', 'onLoad']));
  });
});

interface Field {
  path: string;
  field: Schema;
}

function fieldsOf(schema: Schema, path: string): Field[] {
  const properties = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    path: `${path}.${name}`,
    field,
  }));
  const parts = [...properties.map(({ field, path: at }) => [field, at] as const), [schema.items, path] as const];
  const rest = schema.additionalProperties;
  return [
    ...properties,
    ...parts.flatMap(([part, at]) => (part ? fieldsOf(part as Schema, at) : [])),
    ...(typeof rest === 'object' && rest !== null ? fieldsOf(rest as Schema, path) : []),
  ];
}
