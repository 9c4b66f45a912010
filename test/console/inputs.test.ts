/** The parts of the lists of declared inputs, and of the settings of workflows, that need no browser. */
import { expect, test } from 'vitest';
import { draftOf, optionFaultsOf, withOptions } from '#ops/console/editor/draft.ts';
import {
  expressionOf,
  isListed,
  othersIn,
  summaryOf,
  typeOf,
  types,
  withDefault,
  withText,
  withType,
} from '#ops/console/inputs/definition.ts';
import { durationIn, secondsOf } from '#ops/console/ui/duration.ts';
import { faultsWithin } from '#ops/console/ui/schema-faults.ts';
import { parseDuration } from '#shared/workflow/duration.ts';
import { InputType } from '#shared/workflow/inputs.ts';

test('every type of the API is in the list, and an input of any type has none', () => {
  expect(types.map(({ value }) => value)).toEqual(expect.arrayContaining([...InputType.options, 'any']));
  expect(typeOf({ key: 'a' })).toBe('any');
  expect(withType({ key: 'a', type: 'number', theme: 'dark' }, 'any')).toEqual({ key: 'a', theme: 'dark' });
});

test('an id is a text that names something, and another type names nothing', () => {
  const id = withType({ key: 'a', type: 'number', default: 5 }, 'id:dataQuery');
  expect(id).toEqual({ key: 'a', type: 'string', reference: 'dataQuery' });
  expect(typeOf(id)).toBe('id:dataQuery');
  expect(withType(id, 'choice')).toEqual({ key: 'a', type: 'choice', options: [] });
  // A text that names something else is a text.
  expect(typeOf({ key: 'a', type: 'string', reference: 'unheard of' })).toBe('string');
});

test('a default is stored by one name, and empty texts are left out', () => {
  expect(withDefault({ key: 'a', defaultValue: 1 }, 2)).toEqual({ key: 'a', default: 2 });
  expect(withDefault({ key: 'a', default: 1, defaultValue: 3 }, undefined)).toEqual({ key: 'a' });
  expect(withText({ key: 'a', title: 'A' }, 'title', '')).toEqual({ key: 'a' });
});

test('definitions that fields cannot show are left to JSON, and what fields do not show is named', () => {
  expect(isListed({ key: 'a', type: 'string', theme: 1 })).toBe(true);
  expect(othersIn({ key: 'a', type: 'string', theme: 1 })).toEqual(['theme']);
  for (const one of [
    'a',
    null,
    {},
    { key: 1 },
    { key: 'a', type: 'file' },
    { key: 'a', title: {} },
    { key: 'a', options: 'x' },
  ])
    expect([one, isListed(one)]).toEqual([one, false]);
  expect(summaryOf({ key: 'a', type: 'integer', required: true })).toBe('Whole number, required');
  expect(summaryOf({ key: 'a', type: 'integer', required: true, default: 3 })).toBe('Whole number, 3 if not given');
  expect(expressionOf('order')).toBe('{{ctx.input.order}}');
  expect(expressionOf('my order')).toBe('{{ctx.input["my order"]}}');
});

test('durations have the number and the unit that a person wrote; seconds are shown in the largest unit', () => {
  expect(durationIn('30 min')).toEqual({ amount: '30', unit: 'minutes' });
  expect(durationIn('1.5h')).toEqual({ amount: '1.5', unit: 'hours' });
  expect(durationIn(5_400)).toEqual({ amount: '90', unit: 'minutes' });
  expect(durationIn(90)).toEqual({ amount: '90', unit: 'seconds' });
  expect(durationIn('2 weeks')).toEqual({ amount: '2', unit: 'weeks' });
  expect(durationIn(604_800)).toEqual({ amount: '7', unit: 'days' });
  for (const other of ['soon', '250 ms', '-1', {}]) expect(durationIn(other)).toBeUndefined();
  for (const text of ['30 minutes', '2 hours', '7 days', '2 w', '45 seconds']) {
    const read = durationIn(text);
    expect(read && secondsOf(read) * 1_000).toBe(parseDuration(text));
  }
});

test('options are part of the draft, without what is undefined; a fault stays until its option is changed', () => {
  const sent = draftOf({
    workflowNodes: [],
    workflowEdges: [],
    workflowOptions: { theme: 'dark', rate: { limit: 0, per: 'day' }, inputDefinitions: [{ key: '' }] },
  });
  const issues = [
    { path: ['workflowOptions', 'rate', 'limit'], message: 'too small' },
    { path: ['workflowOptions', 'inputDefinitions', 0, 'key'], message: 'is required' },
    { path: ['workflowNodes', 0], message: 'of the graph' },
  ];
  expect([...optionFaultsOf(issues, sent, sent)]).toEqual([
    ['rate.limit', 'too small'],
    ['inputDefinitions.0.key', 'is required'],
  ]);
  const mended = withOptions(sent, { rate: undefined });
  expect(mended.options).toStrictEqual({ theme: 'dark', inputDefinitions: [{ key: '' }] });
  const left = optionFaultsOf(issues, sent, mended);
  expect([...left.keys()]).toEqual(['inputDefinitions.0.key']);
  expect([...faultsWithin('inputDefinitions', left)]).toEqual([['0.key', 'is required']]);
});
