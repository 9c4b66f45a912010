import { describe, expect, test } from 'vitest';
import type { NodeSteps } from '#ops/console/client/run-steps.ts';
import { draftOf } from '#ops/console/editor/draft.ts';
import { valuesBefore } from '#ops/console/editor/settings/values-before.ts';
import { type Known, valuesAt } from '#ops/console/editor/values-at-step.ts';
import type { Kind, Kinds } from '#ops/console/graph/kinds.ts';
import { faultsIn } from '#ops/console/values/check.ts';
import { completionsAt } from '#ops/console/values/complete.ts';
import { expressionsByName } from '#ops/console/values/fill-by-name.ts';
import { valueNow } from '#ops/console/values/now.ts';
import { insertion, pathText } from '#ops/console/values/path.ts';
import { rowsOf, searched } from '#ops/console/values/rows.ts';
import { partsOf, shortText, type Values, withoutSecrets } from '#ops/console/values/value.ts';

const kindOf = (nodeType: string, exits: string[], more: object = {}) =>
  ({
    nodeType,
    exits,
    usualExit: exits[0],
    exitAliases: {},
    bodyExit: null,
    defaultValue: {},
    ...more,
  }) as unknown as Kind;
const kinds: Kinds = {
  start: kindOf('start', ['output'], { begins: true }),
  end: kindOf('end', []),
  loop: kindOf('loop', ['loop', 'completed', 'error'], { usualExit: 'completed', bodyExit: 'loop' }),
  http: kindOf('http', ['success', 'error'], { takesLinks: true }),
  set: kindOf('set', ['output', 'error']),
  approval: kindOf('approval', ['approved', 'rejected', 'expired', 'error']),
  dataQuery: kindOf('dataQuery', ['success', 'error'], { takesLinks: true }),
};

const draft = draftOf({
  workflowNodes: [
    { id: 'start', type: 'start', data: {} },
    { id: 'orders', type: 'dataQuery', data: { title: 'Orders', outputVariable: 'rows' } },
    { id: 'each', type: 'loop', data: { title: 'Each', sourceVariable: '{{ctx.rows}}', outputVariable: 'done' } },
    { id: 'call', type: 'http', data: { title: 'Call', outputVariable: 'answer' } },
    { id: 'note', type: 'set', data: { assignments: [{ name: 'total', value: 5 }], outputVariable: 'noted' } },
    { id: 'ask', type: 'approval', data: { title: 'Ask', outputVariable: 'decision' } },
    { id: 'aside', type: 'http', data: { title: 'Aside', outputVariable: 'other' } },
    { id: 'end', type: 'end', data: {} },
  ],
  workflowEdges: [
    { id: 'a', source: 'start', target: 'orders' },
    { id: 'b', source: 'orders', target: 'each' },
    { id: 'c', source: 'each', target: 'call', sourceHandle: 'loop' },
    { id: 'd', source: 'call', target: 'note' },
    { id: 'e', source: 'note', target: 'each' },
    { id: 'f', source: 'each', target: 'ask', sourceHandle: 'completed' },
    { id: 'g', source: 'ask', target: 'end', sourceHandle: 'approved' },
    { id: 'h', source: 'start', target: 'aside' },
  ],
});

const testedWith = (outputs: Readonly<Record<string, unknown>>) =>
  new Map(
    Object.entries(outputs).map(([nodeID, output]) => {
      const last = output === 'omitted' ? { outputOmitted: true, seq: 7 } : { output };
      const step = { frame: [], last };
      return [nodeID, { nodeID, steps: [step], shown: step } as unknown as NodeSteps];
    }),
  );

const orders = [{ id: 1, customer: 'Ada', 'a "b"': 1, "it's": 2 }];
const known: Known = {
  definitions: [
    { key: 'orderID', type: 'string', label: 'Order' },
    { key: 'total', type: 'number' },
  ],
  input: { orderID: 'o-1' },
  tested: testedWith({ orders: { rows: orders, success: true } }),
  read: new Map(),
  variables: [
    { name: 'day', value: 'Monday', isSecret: false },
    { name: 'apiKey', value: '********', isSecret: true },
  ],
  hasMoreVariables: false,
};

const at = (id: string, more: Partial<Known> = {}) => valuesAt(id, draft, kinds, { ...known, ...more });
const pathsIn = ({ groups }: Values) =>
  groups.map(({ title, values }) => `${title}: ${values.map(({ path }) => pathText(path, 'template')).join(' ')}`);

describe('values of a step', () => {
  test('in a body: inputs, the item, what has run before the body and in it, and not what the loop gives when it is done', () => {
    expect(pathsIn(at('note'))).toEqual([
      'Item of Each: ctx.item ctx.index',
      'Inputs: ctx.input.orderID ctx.input.total',
      'Call (HTTP request): ctx.answer',
      'Orders (Query): ctx.rows',
      'Variables: vars.day vars.apiKey',
    ]);
  });

  test('behind a body: what the loop gives, and nothing of its body', () => {
    expect(pathsIn(at('ask'))).toEqual([
      'Inputs: ctx.input.orderID ctx.input.total',
      'Each (Loop): ctx.done',
      'Orders (Query): ctx.rows',
      'Variables: vars.day vars.apiKey',
    ]);
  });

  test('columns of a query are those that it has answered with before; a test knows better', () => {
    const items = { type: 'object', fields: { town: { type: 'text' } } } as const;
    const answers = new Map([['q-1', { type: 'list', items } as const]]);
    const nodes = draft.nodes.map((node) =>
      node.id === 'orders' ? { ...node, data: { ...node.data, dataQueryID: 'q-1' } } : node,
    );
    const fieldsOf = (tested: Known['tested']) => {
      const { groups } = valuesAt('note', { ...draft, nodes }, kinds, { ...known, tested, answers });
      const item = groups[0]?.values[0];
      return item && [...partsOf(item)].map(({ name }) => name);
    };
    expect(fieldsOf(new Map())).toEqual(['town']);
    expect(fieldsOf(known.tested)).toContain('customer');
    // The item begins open, so that its fields are seen without a click.
    const { groups } = valuesAt('note', { ...draft, nodes }, kinds, { ...known, tested: new Map(), answers });
    const names = rowsOf({ groups } as Values, new Set()).map(({ name }) => name);
    expect(names.slice(0, 4)).toEqual(['Item of Each', 'item', 'town', 'index']);
  });

  test('inputs are filled by values of the same names, those of the item first, and never by secrets', () => {
    expect(expressionsByName(at('note'), ['customer', 'Order_id', 'total', 'apiKey', 'id', 'nothing'])).toEqual({
      customer: '{{ctx.item.customer}}',
      Order_id: '{{ctx.input.orderID}}',
      total: '{{ctx.input.total}}',
      id: '{{ctx.item.id}}',
    });
  });

  test('values are those of the last test, of what is pinned in place of it, and of the first item; else the declared shape', () => {
    const now = (text: unknown, id: string, more: Partial<Known> = {}) => valueNow(text, at(id, more));
    expect(now('{{ctx.item.customer}} of {{vars.day}}, {{ctx.index}}', 'note')).toEqual({
      state: 'value',
      value: 'Ada of Monday, 0',
    });
    const pin = { pinned: { output: { rows: [{ customer: 'Bob' }] } } };
    const nodes = draft.nodes.map((node) => (node.id === 'orders' ? { ...node, more: pin } : node));
    const pinned = valuesAt('note', { ...draft, nodes }, kinds, known);
    expect(valueNow('{{ctx.item.customer}}', pinned)).toEqual({ state: 'value', value: 'Bob' });
    expect(now({ order: '{{ctx.input.orderID}}', n: ['{{ctx.index}}'] }, 'note')).toEqual({
      state: 'value',
      value: { order: 'o-1', n: [0] },
    });
    expect(now('{{ctx.decision.approved}}', 'end')).toEqual({ state: 'later', of: ['ctx.decision.approved'] });
    expect(now('{{vars.apiKey}}', 'call')).toEqual({ state: 'later', of: ['vars.apiKey'] });
    expect(now('no template', 'end')).toBeUndefined();
    const end = at('end').groups.find(({ title }) => title.startsWith('Ask'))?.values[0];
    expect(end && [...partsOf(end)].map(({ name, shape }) => `${name}: ${shape.type}`)).toEqual([
      'approved: yes or no',
      'comment: text',
      'expired: yes or no',
    ]);
  });

  test('an output that is too large to come with the test is read when it is needed', () => {
    const tested = testedWith({ orders: 'omitted' });
    expect(valueNow('{{ctx.rows[0].id}}', at('each', { tested }))).toEqual({ state: 'read', steps: ['orders'] });
    const read = new Map([['orders', { rows: orders }]]);
    expect(valueNow('{{ctx.rows[0].id}}', at('each', { tested, read }))).toEqual({ state: 'value', value: 1 });
  });
});

describe('names that are not there', () => {
  const faultOf = (text: string, id: string, more: Partial<Known> = {}) =>
    faultsIn(text, at(id, more)).map(({ from, to, message }) => `${text.slice(from, to)}: ${message}`);

  test.each([
    ['{{ctx.input.orderId}}', 'call', 'ctx.input has no “orderId”. Did you mean ctx.input.orderID?'],
    ['{{ctx.row}}', 'call', 'At this step there is no “row”. Did you mean ctx.rows?'],
    ['{{ctx.orderID}}', 'call', 'At this step there is no “orderID”. Did you mean ctx.input.orderID?'],
    ['{{rows}}', 'call', '“rows” is no value here: expressions begin with ctx or vars. Did you mean ctx.rows?'],
    ['{{ctx.answer}}', 'ask', '“answer” cannot be named here: “Call” gives it inside of “Each” alone.'],
    ['{{ctx.done}}', 'note', '“done” cannot be named here: “Each” gives it when all items are done.'],
    ['{{ctx.other}}', 'ask', '“other” cannot be named here: “Aside”, which gives it, does not come before this step.'],
    ['{{ctx.answer}}', 'call', '“answer” cannot be named here: it is the result of this step.'],
    ['{{vars.dai}}', 'call', 'There is no variable “dai”. Did you mean vars.day?'],
    ['{{ctx.item.custommer}}', 'call', 'ctx.item had no “custommer” in the last test. Did you mean ctx.item.customer?'],
    ['{{ctx.decision.aproved}}', 'end', 'ctx.decision has no “aproved”. Did you mean ctx.decision.approved?'],
  ])('%s at %s', (text, id, message) => {
    expect(faultOf(`before ${text} behind`, id)).toEqual([`${text}: ${message}`]);
  });

  test('a value that is there, or may be there, has no fault', () => {
    const texts = ['{{ctx.input}}', '{{ctx.answer.body.deep[3]}}', '{{ctx.rows.length}}', '{{ctx.error.code}}'];
    expect(texts.flatMap((text) => faultOf(text, 'note'))).toEqual([]);
    expect(faultOf('{{vars.more}}', 'call', { hasMoreVariables: true })).toEqual([]);
    expect(faultOf('{{ctx.input.any}}', 'call', { definitions: [], input: undefined })).toEqual([]);
  });

  test('before a run begins there are its inputs alone', () => {
    const values = valuesBefore([{ key: 'customer', type: 'string' }], { customer: 'Ada' });
    const texts = ['{{ctx.rows}}', '{{ctx.input.custommer}}', '{{vars.day}}'];
    expect(texts.flatMap((text) => faultsIn(text, values)).map(({ message }) => message)).toEqual([
      'Before a run begins there is no “rows”.',
      'ctx.input has no “custommer”. Did you mean ctx.input.customer?',
      '“vars” is no value here: expressions begin with ctx.',
    ]);
    expect(valueNow('of {{ctx.input.customer}}', values)).toEqual({ state: 'value', value: 'of Ada' });
  });

  test('keys of results, one in each line, are checked without braces', () => {
    const faults = faultsIn('rows\n  nothing \n', at('end'), 'key');
    expect(faults).toEqual([{ from: 7, to: 14, message: 'At this step there is no “nothing”.' }]);
  });

  test('a secret is not offered where none may stand, and its name is told why', () => {
    const values = withoutSecrets(at('note'));
    expect(pathsIn(values).at(-1)).toBe('Variables: vars.day');
    expect(faultsIn('{{vars.apiKey}}', values)[0]?.message).toContain('“apiKey” cannot be named here: it is a secret');
    expect(faultsIn('{{vars.apiKey}}', at('call'))).toEqual([]);
  });

  test('what computes is told that it cannot', () => {
    expect(faultOf('{{ctx.input.total * 2}}', 'call')[0]).toMatch(
      /is not a path such as .* does not compute: a JavaScript step does/,
    );
  });
});

describe('what is typed', () => {
  const offered = (text: string, id = 'note') => {
    const caret = text.indexOf('|');
    const found = completionsAt(text.replace('|', ''), caret, at(id));
    return found?.options.map(({ label }) => label) ?? null;
  };

  test('values are offered by any part of their names, then by the parts of the one that is named', () => {
    expect(offered('{{|')?.slice(0, 3)).toEqual(['ctx.input', 'ctx.item', 'ctx.index']);
    expect(offered('a {{ord|')).toEqual(['ctx.input.orderID']);
    expect(offered('{{ctx.item.|}} b')).toEqual(['id', 'customer', `['a "b"']`, `["it's"]`]);
    expect(offered('{{ctx.item.cus|')).toEqual(['customer']);
    expect(offered('{{ctx.rows[|', 'each')).toEqual(['[0]']);
    expect(offered('no|')).toBeNull();
    expect(offered('{{ctx.item}}|')).toBeNull();
  });

  test('a name that is chosen takes the place of what is typed, and closes the braces', () => {
    const text = 'to {{ord and more';
    const found = completionsAt(text, 8, at('note'));
    const [first] = found?.options ?? [];
    expect(found && first && text.slice(0, found.from) + first.insert + text.slice(found.to)).toBe(
      'to {{ctx.input.orderID}} and more',
    );
  });

  test('a value goes where the caret is, or in place of the expression around it', () => {
    const put = (text: string, path: (string | number)[], syntax: 'template' | 'code' = 'template') => {
      const caret = text.indexOf('|');
      const plain = text.replace('|', '');
      const change = insertion(plain, { from: caret, to: caret }, path, syntax);
      return change && plain.slice(0, change.from) + change.insert + plain.slice(change.to);
    };
    expect(put('a | b', ['ctx', 'input', 'a b', 0])).toBe('a {{ctx.input["a b"][0]}} b');
    expect(put('a {{ctx.o|ld}} b', ['vars', 'day'])).toBe('a {{vars.day}} b');
    expect(put('ctx.rows.|', ['ctx', 'input', 'a "b"'], 'code')).toBe('ctx.rows.ctx.input["a \\"b\\""]');
    expect(insertion('one\ntwo', { from: 2, to: 2 }, ['ctx', 'rows'], 'key')).toMatchObject({
      from: 3,
      insert: '\nrows',
    });
    expect(insertion('', { from: 0, to: 0 }, ['ctx', 'input', 'id'], 'key')).toBeUndefined();
    expect(put('|', ['ctx', `both " and '`])).toBeUndefined();
  });
});

test('the tree shows 50 parts of a list and counts the rest; a search finds any of them by its name or its content', () => {
  const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, note: `row ${id}` }));
  const values = at('each', { tested: testedWith({ orders: { rows } }) });
  const closed = rowsOf(values, new Set());
  expect(closed.map(({ name }) => name)).toEqual([
    ...['Inputs', 'orderID', 'total', 'Orders (Query)', 'rows', 'Variables', 'day', 'apiKey'],
  ]);
  expect(closed.filter(({ isOpen }) => isOpen !== undefined).map(({ name }) => name)).toEqual([
    ...['Inputs', 'Orders (Query)', 'rows', 'Variables'],
  ]);
  const open = rowsOf(values, new Set([JSON.stringify(['ctx', 'rows'])]));
  expect(open.length).toBe(closed.length + 51);
  expect(open.find(({ more }) => more !== undefined)?.more).toBe(9_950);
  const namesFor = (text: string) => searched(values, text).rows.map(({ name }) => name);
  expect(namesFor('ROW 9876')).toEqual(['ctx.rows[9876].note']);
  expect(namesFor('rows[9999].id')).toEqual(['ctx.rows[9999].id']);
  expect(searched(values, 'row').isCut).toBe(true);
});

test('a large value is written short without being gone through', () => {
  const items = Array.from({ length: 10_000 }, (_, id) => ({ id, text: 'x'.repeat(100) }));
  expect(shortText(items, 40)).toBe('10,000 items: {id: 0, text: "xxxxxxxxxx…');
  expect(shortText({ a: 1, b: ['x'], c: null })).toBe('{a: 1, b: 1 item: "x", c: null}');
  expect(shortText([])).toBe('no items');
});
