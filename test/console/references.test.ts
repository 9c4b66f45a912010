/** The parts of the console's pickers that need no browser. */
import { expect, test } from 'vitest';
import { formOf } from '#api/http/forms/form.ts';
import { declaredInputs, undeclaredKeys } from '#ops/console/ui/declared.ts';
import { choicesFrom, distinctTitles, isID, namedBy, namesIn, noteOf, nounsOf } from '#ops/console/ui/picked.ts';
import { choicesOf, inputsFieldOf, propertiesOf, referenceOf, type Schema } from '#ops/console/ui/schema-shape.ts';
import { isTemplate } from '#ops/console/ui/template.ts';
import { approval } from '#shared/workflow/nodes/kinds/approval.ts';
import { dataCollection } from '#shared/workflow/nodes/kinds/data-collection.ts';
import { dataQuery } from '#shared/workflow/nodes/kinds/data-query.ts';
import { subWorkflow } from '#shared/workflow/nodes/kinds/sub-workflow.ts';

const ID = '01990d3e-5c00-7a10-8000-000000000007';
const OTHER = '01990d3e-5c00-7a10-8000-000000000008';

test('the schema of a field says what it names, however it is wrapped', () => {
  const fields = (config: Parameters<typeof formOf>[0]) => propertiesOf(formOf(config).schema as Schema);

  expect(referenceOf(fields(dataQuery.config).dataQueryID ?? {})).toEqual({ types: ['dataQuery'], isMany: false });
  expect(referenceOf(fields(approval.config).approvers ?? {})).toEqual({ types: ['user', 'role'], isMany: true });
  expect(referenceOf({ anyOf: [{ type: 'string', 'x-reference': 'folder' }, { type: 'null' }] })?.types).toEqual([
    'folder',
  ]);
  expect(referenceOf({ type: 'array', items: { 'x-reference': 'role' } })).toEqual({ types: ['role'], isMany: true });
  expect(referenceOf({ type: 'string', format: 'uuid' })).toBeUndefined();
  expect(inputsFieldOf(fields(subWorkflow.config).inputMapping ?? {})).toBe('childWorkflowID');
});

test('choices have names for people, and a question is described as what a person is asked', () => {
  const fields = (config: Parameters<typeof formOf>[0]) => propertiesOf(formOf(config).schema as Schema);

  expect(choicesOf(fields(approval.config).onTimeout ?? {})).toEqual([
    { sets: 'expired', value: 'expired', label: 'Go on by the exit “expired”' },
    { sets: 'fail', value: 'fail', label: 'Fail' },
  ]);
  expect(choicesOf({ enum: ['a', 'b'], 'x-enumNames': ['A'] })?.map(({ label }) => label)).toEqual(['A', 'b']);
  for (const { config } of [approval, dataCollection]) {
    expect(fields(config).title?.description).toMatch(/^What the person is asked/);
    expect(fields(config).description?.description).toMatch(/^What the person should know/);
    // It has no effect, so that forms leave it out.
    expect(fields(config).timeoutSeconds?.deprecated).toBe(true);
  }
});

test('an id that stands for nothing names nothing, and a template is no id', () => {
  expect(namedBy('00000000-0000-4000-8000-000000000000')).toBeUndefined();
  expect(namedBy('')).toBeUndefined();
  expect(namedBy(ID.toUpperCase())).toBe(ID);
  expect([ID, '{{ctx.input.id}}', 'Sales', '00000000-0000-0000-0000-000000000000'].map(isID)).toEqual([
    ...[true, false, false, false],
  ]);
  expect(['{{ctx.a}}', 'Dear {{ctx.a}}', 'a', 5].map(isTemplate)).toEqual([true, true, false, false]);
});

test('names come from a list, or from a text with commas', () => {
  expect(namesIn(` Sales, ann@example.com,,${ID}, Sales`)).toEqual(['Sales', 'ann@example.com', ID]);
  expect(namesIn([ID, 'Sales'])).toEqual([ID, 'Sales']);
  expect(namesIn(undefined)).toEqual([]);
});

test('present values are among the choices of their type, also those that no list has', () => {
  const groups = [
    { type: 'user', label: 'members', rows: [{ id: ID, title: 'ann@example.com' }] },
    { type: 'role', label: 'roles', rows: [] },
  ];
  const known = new Map([
    [ID, { id: ID, title: 'ann@example.com', type: 'user' }],
    [OTHER, { id: OTHER, title: 'Sales', type: 'role' }],
    ['lost', { id: 'lost', title: 'lost', type: undefined }],
  ]);

  expect(choicesFrom(groups, known).map(({ rows }) => rows.map(({ title }) => title))).toEqual([
    ['lost', 'ann@example.com'],
    ['Sales'],
  ]);
  expect(choicesFrom([], new Map([['lost', { id: 'lost', title: 'lost', type: undefined }]]))[0]?.rows).toHaveLength(1);
});

test('choices of the same title are told apart by the end of their ids', () => {
  const rows = [ID, OTHER].map((id) => ({ id, title: 'Import' }));
  const groups = [{ type: 'workflow', label: 'workflows', rows: [...rows, { id: 'c', title: 'Export' }] }];

  expect(distinctTitles(groups)[0]?.rows.map(({ title }) => title)).toEqual([
    'Import (00000007)',
    'Import (00000008)',
    'Export',
  ]);
});

test('the words of a picker', () => {
  expect(nounsOf(['query'])).toEqual({ article: 'a', one: 'query', several: 'queries' });
  expect(nounsOf(['account']).article).toBe('an');
  expect(nounsOf(['member', 'role'])).toEqual({ article: 'a', one: 'member or role', several: 'members and roles' });
  expect(noteOf({ id: ID, title: ID, type: 'dataQuery', reason: 'gone' })).toContain('deleted');
  expect(noteOf({ id: ID, title: ID, type: 'dataQuery', reason: 'hidden' })).toContain('may not see');
});

test('declared inputs have the field of their type, their default as a hint, and others beside them are kept', () => {
  const inputs = declaredInputs([
    { key: 'least', type: 'number', required: true, default: 10 },
    { key: 'filter', type: 'object', default: { open: true } },
    { key: 'any', label: 'Anything' },
    { key: 'day', type: 'date' },
    { key: 'size', type: 'choice', options: ['S', 'L', 7] },
    { key: 'sure', type: 'boolean', required: true },
    { key: 'maybe', type: 'boolean', required: true, default: false },
    { key: 'query', type: 'string', reference: 'dataQuery' },
    { key: 'other', type: 'string', reference: 'unheard of' },
    'no definition',
  ]);

  expect(inputs.map(({ key, label, kind, hint }) => [key, label, kind, hint])).toEqual([
    ['least', 'least', 'number', '10'],
    ['filter', 'filter', 'json', '{"open":true}'],
    ['any', 'Anything', 'any', ''],
    ['day', 'day', 'date', ''],
    ['size', 'size', 'choice', ''],
    ['sure', 'sure', 'yes or no', ''],
    ['maybe', 'maybe', 'checkbox', 'false'],
    ['query', 'query', 'id', ''],
    // Without a picker for it, the field is one for texts.
    ['other', 'other', 'id', ''],
  ]);
  expect(inputs[4]?.options).toEqual(['S', 'L']);
  expect(undeclaredKeys(inputs, { least: 1, old: 2, any: 3 })).toEqual(['old']);
});
