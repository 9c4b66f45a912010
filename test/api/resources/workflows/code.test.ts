import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant, chain, type TestTenant } from '../../../support/factories.ts';
import { code } from '../../../support/graphs.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

function expression(leftValue: unknown) {
  const conditions = [
    { operator: 'equals', leftValue: 1, rightValue: 1 },
    { operator: 'expression', leftValue },
  ];
  return { type: 'condition', branches: [{ id: 'yes', conditions }] };
}

async function save(step: { type: string }) {
  const { nodes, edges } = chain({ step });
  return await api().post('T/workflows', { title: 'Code', workflowNodes: nodes, workflowEdges: edges });
}

test.each<[string, string]>([
  ['const a = 1;\nconst b = ;\nreturn a;', "line 2, column 11: Unexpected token ';'"],
  ["return 'open", 'line 1, column 8: Invalid or unexpected token'],
  ['\tlet a;\n\tlet a;', "line 2, column 6: Identifier 'a' has already been declared"],
  ['const f = () => { let q = 1; let q = 2; };', "line 1, column 34: Identifier 'q' has already been declared"],
  ['let ctx = 1;', "line 1, column 5: Identifier 'ctx' has already been declared"],
  ['if (ctx.a) {\n  return 1;', 'line 2, column 12: unexpected end: a bracket'],
  ['return [1,\r\n 2', 'line 2, column 3: unexpected end: a bracket'],
  ['return 1; }); (function () {', 'line 1, column 29: unexpected end: a bracket'],
  ['return /(/;', 'line 1, column 8: Invalid regular expression'],
  ['return import.meta;', "line 1, column 15: Cannot use 'import.meta' outside a module"],
  [`return ${'('.repeat(50_000)}`, 'is nested too deeply'],
])('code that does not parse is refused with its place: %j', async (text, words) => {
  const { status, body } = await save(code(text));

  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: 'VALIDATION_ERROR' });
  expect(body.error.message).toContain(`workflowNodes.1.data.code: ${words}`);
  expect(body.error.details.issues).toMatchObject([{ path: ['workflowNodes', 1, 'data', 'code'] }]);
});

test.each<[string, string]>([
  ['ctx.input.a >', 'line 1, column 14: unexpected end: a bracket'],
  ['ctx.a\n  && && ctx.b', "line 2, column 6: Unexpected token '&&'"],
  ['1)); ((2', 'line 1, column 9: unexpected end: a bracket'],
  ['return 1', "line 1, column 1: Unexpected token 'return'"],
])('an expression that does not parse is refused with its place: %j', async (text, words) => {
  const { status, body } = await save(expression(text));

  expect(status).toBe(400);
  expect(body.error.message).toContain(`workflowNodes.1.data.branches.0.conditions.1.leftValue: ${words}`);
});

test.each([
  ['outputVariable', code('return 1', { outputVariable: '{{ctx.input.name}}' })],
  [
    'mergeOutputs',
    { type: 'subWorkflow', childWorkflowID: '{{ctx.input.child}}', mergeOutputs: '{{ctx.input.merges}}' },
  ],
])('a result whose name a template gives is refused, as a run would lose it after a wait: %s', async (field, step) => {
  const { status, body } = await save(step);

  expect(status).toBe(400);
  expect(body.error.message).toBe(
    `workflowNodes.1.data.${field}: cannot be a template: the name of a result is the same in all runs`,
  );
});

test.each([
  code('// only a comment'),
  code('const { a } = await Promise.resolve(ctx.input);\nreturn { a } // the end'),
  code('process.exit(1); throw new Error("it is not run");'),
  expression('ctx.input.a > 1 // more'),
  expression('{{ctx.input.a}} > > 1'),
  expression(true),
])('other code is saved, and nothing of it runs: %j', async (step) => {
  expect(await save(step)).toMatchObject({ status: 201 });
});

test('a test and an update are refused as well, with the field names of the request', async () => {
  const { nodes, edges } = chain({ step: code('return (') });
  const { body } = await save(code('return 1'));

  const update = await api().patch(`T/workflows/${body.workflow.id}`, { nodes, edges });
  const tried = await api().post('T/workflows/test', { nodes, edges });

  for (const answer of [update, tried]) {
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toContain('nodes.1.data.code: line 1, column 9: unexpected end');
    expect(answer.body.error.message).not.toContain('workflowNodes');
  }
});
