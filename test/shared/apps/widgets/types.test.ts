import { describe, expect, test } from 'vitest';
import { formOf } from '#api/http/forms/form.ts';
import { configOf, eventsOf } from '#shared/apps/widgets/config.ts';
import { widgets } from '#shared/apps/widgets/index.ts';

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
  const { uischema } = formOf(configOf(definition));

  test('begins with valid properties, and lays out the parts of its config', () => {
    expect(definition.properties.strict().safeParse(definition.defaults).error).toBeUndefined();
    expect(JSON.stringify(uischema)).toContain('#/properties/properties/properties/');
    expect(JSON.stringify(uischema)).toContain('#/properties/dataQueries');
    expect(eventsOf(definition)).toEqual(expect.arrayContaining(['onClick', 'onRefresh', 'onLoad']));
  });
});
