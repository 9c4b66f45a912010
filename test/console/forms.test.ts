/** The parts of the console's forms that need no browser. */
import { expect, test } from 'vitest';
import { formOf } from '#api/http/forms/form.ts';
import { layoutProblem } from '#ops/console/inbox/check-form.ts';
import { answerOf, anyAnswer, questionForm } from '#ops/console/inbox/question-form.ts';
import Ajv from '#ops/console/ui/ajv.ts';
import { errorsOf, faultAround, faultWithin, hasFault } from '#ops/console/ui/schema-faults.ts';
import { choicesOf, type Layout, layoutOf, wordsOf } from '#ops/console/ui/schema-shape.ts';
import { unresolvedFaults, withValueAt } from '#ops/console/ui/schema-value.ts';
import { parseTemplateJSON } from '#ops/console/ui/template-json.ts';
import { datasources } from '#shared/datasources/types/index.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';

const schema = {
  type: 'object',
  properties: {
    size: { type: 'integer', default: 3 },
    gift: { type: 'boolean' },
    to: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
    lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' } } } },
  },
  required: ['size'],
};
const control = (scope: string, more: object = {}): Layout => ({ type: 'Control', scope, ...more });
const below = (...elements: readonly Layout[]): Layout => ({ type: 'VerticalLayout', elements });

test('what is saved differs in the changed part alone, and an emptied field is left out', () => {
  const value = { a: 1, list: [{ x: 1, y: 2 }, { x: 3 }], z: 2 };
  const changed = withValueAt(value, ['list', '0', 'x'], 9);

  expect(JSON.stringify(changed)).toBe('{"a":1,"list":[{"x":9,"y":2},{"x":3}],"z":2}');
  expect(withValueAt(value, ['a'], undefined)).toStrictEqual({ list: value.list, z: 2 });
  expect(withValueAt({ to: '{{ctx.to}}' }, ['to', 'street'], 'Elm')).toEqual({ to: { street: 'Elm' } });
  expect(withValueAt(value, [], 5)).toBe(5);
});

test('templates in JSON stand with quotes or without, and become texts', () => {
  const typed =
    '{"id": {{inputs.id}}, "all": [{{ inputs["a b"] }}, {"deep": {{inputs.d}}}], "text": "\\"{{inputs.t}}\\" {{x}}", "n": 1}';

  expect(parseTemplateJSON(typed)).toEqual({
    ...{ id: '{{inputs.id}}', text: '"{{inputs.t}}" {{x}}', n: 1 },
    all: ['{{ inputs["a b"] }}', { deep: '{{inputs.d}}' }],
  });
  expect(() => parseTemplateJSON('{{{inputs.key}}: 1')).toThrow(SyntaxError);
  expect(() => parseTemplateJSON('[{{inputs.level}}] text')).toThrow(SyntaxError);
  expect(() => parseTemplateJSON('{"a": {{x}}, "n": 12345678901234567890.5}')).toThrow('n: 12345678901234567890.5 is');
});

test('a fault stays until its field changes, also one within a value', () => {
  const faults = new Map([
    ['to.street', 'is required'],
    ['size', 'too large'],
  ]);
  const [then, now] = [{ size: 1 }, { size: 2 }];

  expect(unresolvedFaults(faults, then, then)).toEqual(faults);
  expect(unresolvedFaults(faults, then, now)).toEqual(new Map([['to.street', 'is required']]));
  expect(faultWithin('to', errorsOf(faults))).toBe('street: is required');
  expect(faultWithin('t', errorsOf(faults))).toBeUndefined();
  expect(hasFault(below(control('#/properties/to')), '', errorsOf(faults))).toBe(true);
  expect(hasFault(below(control('#/properties/street')), 'to', errorsOf(faults))).toBe(true);
  expect(hasFault(below(control('#/properties/lines')), '', errorsOf(faults))).toBe(false);
  const street = below(control('#/properties/to/properties/street'));
  expect(hasFault(street, '', errorsOf([['to', 'is required']]))).toBe(true);
  expect(faultAround(street, '', errorsOf([['to', 'is required']]))).toBe('is required');
  expect(faultAround(street, '', errorsOf(faults))).toBeUndefined();
});

test('conditions of rules are checked without code that is made from text, and end', () => {
  const ajv = new Ajv();

  expect(ajv.validate({ enum: ['a', 'b'] }, 'b')).toBe(true);
  expect(ajv.validate({ const: true }, undefined)).toBe(false);
  expect(ajv.validate({ not: { const: 1 } }, undefined)).toBe(true);
  expect(ajv.validate({ $schema: 'https://json-schema.org/draft/2020-12/schema', minimum: 3 }, 4)).toBe(true);
  expect(ajv.validate({ $ref: '#' }, 1)).toBe(false);
  expect(ajv.validate({ $ref: '#/nowhere' }, 1)).toBe(false);
});

test('every form that the API serves passes the checks of layouts, fields that depend on others included', () => {
  const forms = [
    ...nodes.map(({ kind, config }) => ({ name: kind, ...formOf(config) })),
    ...Object.values(datasources).flatMap(({ type, options, query }) => [
      { name: type, ...formOf(options) },
      { name: `query of ${type}`, ...formOf(query) },
    ]),
  ];
  const problems = forms.map(({ name, uischema, schema: of }) => [name, layoutProblem(uischema, of)]);

  expect(forms.length).toBeGreaterThan(60);
  expect(problems.filter(([, problem]) => problem)).toEqual([]);
});

test.each(['restapi', 'graphql', 'webhook'])(
  'a datasource of the type %s has fields of the chosen authentication alone',
  (type) => {
    const source = datasources.find((one) => one.type === type);
    const { elements = [] } = formOf(source?.options as Parameters<typeof formOf>[0]).uischema as Layout;
    const OF_ONE = /username|password|bearerToken|apiKey|oauth2|oauthConnectionID|basicAuth|authSecret/;
    const ofOne = elements.filter((element) => OF_ONE.test(JSON.stringify(element)));

    expect(ofOne.length).toBeGreaterThan(2);
    expect(ofOne.filter((element) => !('rule' in element))).toEqual([]);
  },
);

test('choices keep the type of their values, and a value twice is one of them', () => {
  expect(choicesOf({ enum: [1, 'a', 1, null] })).toEqual([
    { sets: 1, value: '1', label: '1' },
    { sets: 'a', value: 'a', label: 'a' },
    { sets: null, value: 'null', label: 'null' },
  ]);
  expect(choicesOf({ oneOf: [{ const: 2, title: 'Two' }] })).toEqual([{ sets: 2, value: '2', label: 'Two' }]);
  expect(choicesOf({ oneOf: [{ type: 'string' }] })).toBeUndefined();
  const fields = { key: { type: 'string' }, old: { type: 'string', deprecated: true } };
  expect(layoutOf({ properties: fields }).elements).toEqual([control('#/properties/key')]);
  expect(wordsOf('#/properties/connectionOption')).toBe('Connection option');
});

test('a question is asked by its fields, else by its schema in its own layout, else for JSON', () => {
  const layout = below(control('#/properties/size'));
  const fields = [
    {
      key: 'carrier',
      label: 'Carrier',
      fieldType: 'dropdown',
      required: true,
      options: ['post', { value: 'x', label: 'Express' }],
    },
    { key: 'note', fieldType: 'long text', placeholder: 'Anything' },
    { key: 'gift', fieldType: 'checkbox', required: true },
  ];
  const made = questionForm({ fields, formSchema: schema });

  expect(made.form).toEqual({
    schema: {
      type: 'object',
      required: ['carrier'],
      properties: {
        carrier: { type: 'string', title: 'Carrier', oneOf: [{ const: 'post' }, { const: 'x', title: 'Express' }] },
        note: { type: 'string', title: 'note' },
        gift: { type: 'boolean', title: 'gift' },
      },
    },
    uischema: below(
      control('#/properties/carrier', { options: { multi: false } }),
      control('#/properties/note', { options: { placeholder: 'Anything', multi: true } }),
      control('#/properties/gift', { options: { multi: false } }),
    ),
  });
  expect(made.start).toEqual({ gift: false });
  expect(questionForm({ fields: [], formSchema: schema, formUischema: layout })).toEqual({
    ...{ form: { schema, uischema: layout }, start: { size: 3, gift: false } },
  });
  expect(questionForm({ formSchema: schema, formUischema: {} }).form.uischema).toEqual(layoutOf(schema));
  expect(questionForm({})).toEqual({ form: anyAnswer, start: {} });
});

const rule = (condition: unknown, effect = 'SHOW') =>
  below(control('#/properties/gift', { rule: { effect, condition } }));
const reads = (conditionSchema: object) => ({ scope: '#/properties/size', schema: conditionSchema });
const nested = (depth: number): Layout => (depth === 0 ? control('#/properties/size') : below(nested(depth - 1)));

test.each([
  ['a scope that leads nowhere', below(control('#/properties/none')), '"#/properties/none" leads to no field'],
  ['a scope that is no path', below(control('size')), '"size" leads to no field'],
  ['an element of another type', below({ type: 'Script', label: '<script>' }), 'type "Script"'],
  ['no list of elements', { type: 'Group', label: 'All' }, 'no list of elements'],
  ['a label without a text', below({ type: 'Label', label: 'All' }), 'no text'],
  [
    'too many fields',
    below(...Array.from({ length: 2_000 }, () => control('#/properties/size'))),
    'more than 300 fields',
  ],
  ['too many levels', nested(20), 'more than 12 levels'],
  ['a rule without a condition', rule(undefined), 'no condition'],
  ['a rule without an effect', rule(reads({ const: 1 }), 'BURN'), 'no effect'],
  ['a rule that reads nothing', rule({ scope: '#/properties/none', schema: {} }), 'which is no field'],
  ['a rule of no conditions', rule({ type: 'AND' }), 'AND of no conditions'],
  ['a pattern in a rule', rule({ type: 'OR', conditions: [reads({ pattern: '^(a+)+$' })] }), 'without end'],
  ['a circle in a rule', rule(reads({ $ref: '#' })), 'without end'],
  [
    'a fault in the layout of items',
    below(control('#/properties/lines', { options: { detail: control('#/properties/none') } })),
    'leads to no field',
  ],
])('a layout with %s is not used, and the question says why', (_, formUischema, why) => {
  const { form, problem } = questionForm({ formSchema: schema, formUischema });

  expect(form.uischema).toEqual(layoutOf(schema));
  expect(problem).toContain('The layout of this question is not used');
  expect(problem).toContain(why);
});

test('a layout with every kind of element is used as it is', () => {
  const uischema = below(
    { type: 'Label', text: 'All' } as Layout,
    {
      type: 'Categorization',
      elements: [{ type: 'Category', label: 'One', elements: [control('#/properties/size')] }],
    },
    {
      type: 'Group',
      label: 'Two',
      elements: [{ type: 'HorizontalLayout', elements: [control('#/properties/to/properties/street')] }],
    },
    control('#/properties/lines', { options: { detail: below(control('#/properties/sku')) } }),
    rule(
      {
        type: 'AND',
        conditions: [reads({ minimum: 2 }), { type: 'LEAF', scope: '#/properties/gift', expectedValue: true }],
      },
      'ENABLE',
    ),
  );

  expect(questionForm({ formSchema: schema, formUischema: uischema })).toMatchObject({ form: { uischema } });
  expect(questionForm({ formSchema: schema, formUischema: uischema })).not.toHaveProperty('problem');
});

const ofMany = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`f${index}`, { type: 'string' }]));
const deep = (depth: number): object => ({ properties: depth === 0 ? { a: {} } : { a: deep(depth - 1) } });

test.each([
  ['no properties', { type: 'string' }, 'no properties'],
  ['2,000 fields', { properties: ofMany }, 'more than 300 fields'],
  ['many levels', deep(20), 'more than 12 levels'],
  ['a circle', { properties: { a: { type: 'array', items: { $ref: '#' } } } }, '$ref'],
  ['a name that is a path', { properties: { 'a.b': { type: 'string' } } }, '“a.b”'],
  ['required that is no list', { properties: { a: {} }, required: {} }, 'no list'],
])('a schema with %s is answered as JSON, and the question says why', (_, formSchema, why) => {
  const { form, start, problem } = questionForm({ formSchema, formUischema: layoutOf(schema) });

  expect({ form, start }).toEqual({ form: anyAnswer, start: {} });
  expect(problem).toContain(why);
});

test('an object in which everything was cleared is not sent, unless it is required', () => {
  const form = { schema, uischema: {} };
  const strict = { schema: { ...schema, required: ['to'] }, uischema: {} };

  expect(answerOf({ size: 1, to: {}, lines: [{}] }, form)).toEqual({ size: 1, lines: [{}] });
  expect(answerOf({ to: {} }, strict)).toEqual({ to: {} });
  expect(answerOf({ any: {} }, anyAnswer)).toEqual({ any: {} });
});
