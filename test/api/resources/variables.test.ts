import { afterAll, beforeAll, expect, test } from 'vitest';
import { rotateAllSecrets } from '#ops/rotate-all-secrets.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { createTenantVariables } from '#workers/nodes/variables.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { testLogger } from '../../support/environment.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant } from '../../support/factories.ts';
import { code } from '../../support/graphs.ts';
import { startHTTP } from '../../support/http-server.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: true });
  tenant = await aTenant(cluster);
});

afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

let names = 0;
async function aVariable(value: Json, more: JsonObject = {}): Promise<{ id: string; name: string }> {
  names += 1;
  const { status, body } = await api().post('T/variables', { name: `v${names}`, value, ...more });
  expect(status).toBe(201);
  return body.variable;
}

const aSecret = (value: string) => aVariable(value, { isSecret: true });

/** The answer of a run of this graph, which the API checks and saves. */
async function runOf(graph: object): Promise<{ status: string; output: JsonObject; error: JsonObject; id: string }> {
  const { body } = await api().post('T/workflows', { title: 'With variables', ...graph });
  expect(body.workflow, JSON.stringify(body)).toBeDefined();
  const answer = await api().post(`T/workflows/${body.workflow.id}/execute?wait=30`);
  return { ...answer.body, id: body.workflow.id };
}

test('a variable is created, shown, changed and deleted; names are unique and can be written behind a dot', async () => {
  const variable = await aVariable({ rate: 1.19 }, { description: 'VAT' });

  expect(variable).toMatchObject({ value: { rate: 1.19 }, isSecret: false, description: 'VAT', tenantID: tenant.id });
  const changed = await api().patch(`T/variables/${variable.id}`, { value: null });
  expect(changed.body.variable).toMatchObject({ value: null, description: 'VAT', name: variable.name });
  const list = await api().get(`T/variables?search=${variable.name}`);
  expect(list.body).toMatchObject({ variables: [changed.body.variable], totalCount: 1 });
  expect(await api().post('T/variables', { name: variable.name, value: 1 })).toMatchObject({ status: 409 });
  for (const name of ['1a', 'a-b', 'a b', '', '__proto__', 'constructor', 'x'.repeat(65)])
    expect(await api().post('T/variables', { name, value: 1 })).toMatchObject({ status: 400 });
  expect(await api().post('T/variables', { name: 'large', value: 'x'.repeat(16_001) })).toMatchObject({ status: 400 });
  expect(await api().delete(`T/variables/${variable.id}`)).toMatchObject({ status: 200 });
  expect(await api().get(`T/variables/${variable.id}`)).toMatchObject({ status: 404 });
});

test('of variables of one name that are created at once, one is stored, and the others are refused', async () => {
  const answers = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((value) => api().post('T/variables', { name: 'atOnce', value })),
  );

  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
  const refused = answers.find(({ status }) => status === 409);
  expect(refused?.body.error).toMatchObject({ code: 'CONFLICT', details: { issues: [{ path: ['name'] }] } });
});

test('templates and code read variables at the moment of the node', async () => {
  const price = await aVariable(7);
  const unused = await aSecret('never in code');
  const positive = { conditions: [{ operator: 'expression', leftValue: `vars.${price.name} > 0` }] };
  const graph = chain(
    {
      sum: code(`const twice = vars.${price.name} * 2; return { twice, secret: vars.${unused.name} ?? 'none' };`),
      own: code('const vars = 1; return vars;'),
      choose: { type: 'condition', branches: [{ id: 'yes', ...positive }] },
    },
    { price: `{{vars.${price.name}}}`, text: `costs {{vars.${price.name}}}`, sum: '{{ctx.scriptResult}}' },
  );

  const first = await runOf(graph);
  await api().patch(`T/variables/${price.id}`, { value: 8 });
  const second = await api().post(`T/workflows/${first.id}/execute?wait=30`);

  expect(first).toMatchObject({ status: 'COMPLETED', output: { price: 7, text: 'costs 7' } });
  const read = await api().get(`T/workflows/instances/${(first as unknown as { instanceID: string }).instanceID}`);
  const sum = read.body.timeline.find(({ nodeID, status }: JsonObject) => nodeID === 'sum' && status === 'SUCCESS');
  expect(sum.output.scriptResult).toEqual({ twice: 14, secret: 'none' });
  expect(second.body.output).toMatchObject({ price: 8, text: 'costs 8' });
});

test('a secret is sent by HTTP nodes, and masked in answers, outputs, errors and events', async () => {
  await using server = await startHTTP((request, response) => {
    response.statusCode = request.url.startsWith('/fail') ? 400 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request));
  });
  const text = 'sürprise/"token"';
  const { id, name } = await aSecret(text);
  const plain = await aSecret('a plain token');
  const call = (path: string) => ({
    type: 'http',
    url: `${server.origin}${path}/{{vars.${name}}}`,
    method: 'POST',
    headers: [{ key: 'x-token', value: `Bearer {{vars.${plain.name}}}` }],
    body: { token: `{{vars.${name}}}` },
  });

  const done = await runOf(chain({ call: call('/ok') }, { answer: '{{ctx.httpResponse}}' }));
  const failed = await runOf(chain({ call: call('/fail') }));

  expect(server.seen[0]).toMatchObject({
    url: `/ok/${encodeURIComponent(text)}`,
    body: JSON.stringify({ token: text }),
    headers: { 'x-token': 'Bearer a plain token' },
  });
  expect(done.output.answer).toMatchObject({ url: `/ok/${MASK}`, headers: { 'x-token': `Bearer ${MASK}` } });
  expect(failed).toMatchObject({ status: 'FAILED', error: { code: 'UPSTREAM_FAILED' } });
  const { rows } = await cluster.context.pool.query<{ text: string }>(
    `select coalesce(string_agg(e::text, ''), '') || (select coalesce(string_agg(i::text, ''), '') from workflow_instance i)
       || (select string_agg(v::text, '') from tenant_variable v) as text from run_event e`,
  );
  const shown = JSON.stringify([(await api().get(`T/variables/${id}`)).body, (await api().get('T/variables')).body]);
  for (const secret of ['a plain token', 'sürprise', encodeURIComponent('sürprise')])
    for (const stored of [rows[0]?.text ?? '', shown]) expect(stored).not.toContain(secret);
  expect(shown).toContain(MASK);
});

test('a secret is masked in the ways in which URLs and forms write it', async () => {
  await using server = await startHTTP((request, response) => {
    const { url, body } = request;
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ url, body }));
  });
  for (const text of ["it's (a secret)!*~ 1+1", 'p@ss "w/ü&\\ x%']) {
    const { name } = await aSecret(text);
    const secret = `{{vars.${name}}}`;
    const call = { type: 'http', method: 'POST', url: `${server.origin}/${secret}?q=${secret}` };
    const bodies = { bodyType: 'form', body: { f: secret } };
    const queried = { ...call, ...bodies, queryParams: [{ key: 'z', value: secret }] };

    const { output } = await runOf(chain({ call: queried }, { answer: '{{ctx.httpResponse}}' }));
    const plain = await runOf(chain({ call }, { answer: '{{ctx.httpResponse}}' }));

    expect(output.answer).toMatchObject({ url: `/${MASK}?q=${MASK}&z=${MASK}`, body: `f=${MASK}` });
    expect(plain.output.answer).toMatchObject({ url: `/${MASK}?q=${MASK}` });
  }
});

test('a secret is refused outside of the fields of an HTTP node, and a name that is not there as well', async () => {
  const { name } = await aSecret('a plain token');
  const graphs: Record<string, object> = {
    [`the secret "${name}" cannot be used here`]: chain({}, { leaked: `{{vars.${name}}}` }),
    'but in the fields url': chain({ call: { type: 'http', url: 'http://127.0.0.1:1', title: `{{vars.${name}}}` } }),
    'there is no variable "missing"': chain({}, { missing: '{{vars.missing}}' }),
  };

  for (const [message, graph] of Object.entries(graphs)) {
    const { status, error } = await runOf(graph);
    expect({ status, message: error.message }).toEqual({ status: 'FAILED', message: expect.stringContaining(message) });
  }
});

test('the mask keeps a secret, and a secret is a text of some length', async () => {
  await using server = await startHTTP();
  const { id, name } = await aSecret('the first token');
  const { id: workflowID } = await runOf(
    chain({ call: { type: 'http', url: server.origin, headers: [{ key: 'x-token', value: `{{vars.${name}}}` }] } }),
  );

  for (const value of [7, 'abc'])
    expect(await api().patch(`T/variables/${id}`, { value })).toMatchObject({ status: 400 });
  expect(await api().post('T/variables', { name: 'short', value: 'abc', isSecret: true })).toMatchObject({
    status: 400,
  });
  await api().patch(`T/variables/${id}`, { value: MASK, description: 'kept' });
  await api().post(`T/workflows/${workflowID}/execute?wait=30`);
  await api().patch(`T/variables/${id}`, { value: 'the next token' });
  await api().post(`T/workflows/${workflowID}/execute?wait=30`);

  const tokens = server.seen.map(({ headers }) => headers['x-token']);
  expect(tokens).toEqual(['the first token', 'the first token', 'the next token']);
});

test('a graph with variables is saved and tested only by callers who may use them', async () => {
  const { name } = await aVariable(1);
  const graph = chain({}, { price: `{{vars.${name}}}` });
  const author = await aMember(cluster, { tenant, can: ['workflow.create', 'workflow.test', 'workflow.execute'] });
  const theirs = cluster.as(author).in(tenant);

  expect(await theirs.post('T/workflows', { title: 'No', ...graph })).toMatchObject({ status: 403 });
  expect(await theirs.post('T/workflows/test', graph)).toMatchObject({ status: 403 });
  expect(await theirs.post('T/workflows', { title: 'No', ...chain({ a: code('return vars.x') }) })).toMatchObject({
    status: 403,
  });
  const { id } = await runOf(graph);
  expect((await theirs.post(`T/workflows/${id}/execute?wait=30`)).body.output).toEqual({ price: 1 });
  const user = await aMember(cluster, { tenant, can: ['workflow.create', 'variable.use'] });
  expect(
    await cluster
      .as(user)
      .in(tenant)
      .post('T/workflows', { title: 'Yes', ...graph }),
  ).toMatchObject({
    status: 201,
  });
});

test('a variable that published workflows use is deleted only by force', async () => {
  const [inTemplate, inCode, unused] = [await aVariable(1), await aVariable(2), await aVariable(3)];
  await runOf(chain({ a: code(`return vars["${inCode.name}"];`) }, { a: `{{ vars.${inTemplate.name} }}` }));

  for (const { id } of [inTemplate, inCode]) {
    const refused = await api().delete(`T/variables/${id}`);
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    expect(refused.body.error.message).toContain('1 published workflow uses');
    expect(await api().delete(`T/variables/${id}?force=true`)).toMatchObject({ status: 200 });
  }
  expect(await api().delete(`T/variables/${unused.id}`)).toMatchObject({ status: 200 });
});

test('the usage of a variable names published workflows and drafts: by templates, by code, and as the secret of a webhook', async () => {
  const [used, other] = [await aSecret(`whsec_${'A'.repeat(32)}`), await aVariable(1)];
  const [outputs, inCode] = [{ a: `{{vars.${used.name}}}` }, chain({ a: code(`return vars.${used.name};`) })];
  const completionWebhook = { url: 'https://example.com', secret: used.name };
  const create = async (title: string, body: object): Promise<string> =>
    (await api().post('T/workflows', { title, ...body })).body.workflow.id;
  const byCode = await create('By code', inCode);
  const bySecret = await create('By its webhook', { ...chain(), workflowOptions: { completionWebhook } });
  const draft = await create('By a draft', chain());
  await api().patch(`T/workflows/${draft}`, { ...chain({}, outputs), draft: true });
  await create('Names a longer one', chain({ a: code(`return vars.${used.name}0;`) }));

  const { status, body } = await api().get(`T/variables/${used.id}/usage`);
  expect(status).toBe(200);
  expect(
    body.workflows.toSorted((a: JsonObject, b: JsonObject) =>
      String(a.workflowTitle) < String(b.workflowTitle) ? -1 : 1,
    ),
  ).toEqual([
    { workflowID: draft, workflowTitle: 'By a draft', isPublished: false },
    { workflowID: byCode, workflowTitle: 'By code', isPublished: true },
    { workflowID: bySecret, workflowTitle: 'By its webhook', isPublished: true },
  ]);
  expect(body.others).toBe(0);
  expect((await api().get(`T/variables/${other.id}/usage`)).body).toMatchObject({ workflows: [], others: 0 });
  // A secret of a webhook is missed as much as one of a template; a draft is not run.
  const refused = await api().delete(`T/variables/${used.id}`);
  expect(refused.body.error.message).toContain('2 published workflows use');

  const reader = await aMember(cluster, { tenant, can: ['variable.read'] });
  const theirs = await cluster.as(reader).in(tenant).get(`T/variables/${used.id}/usage`);
  expect(theirs.body).toMatchObject({ workflows: [], others: 3 });
});

test('a run that waits for an answer goes on with it after a variable of the question is deleted', async () => {
  const variable = await aVariable('Acme');
  const ask = { type: 'approval', title: `{{vars.${variable.name}}}` };
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ ask }, { approved: '{{ctx.approval.approved}}' }) });
  const { body } = await api().post(`T/workflows/${id}/execute`);
  const path = `T/workflows/data-collection?instanceID=${body.instanceID}`;
  await eventually(async () => expect((await api().get(path)).body.requests).toHaveLength(1));
  const [asked] = (await api().get(path)).body.requests;
  expect(asked.collectionConfig.title).toBe('Acme');

  await api().patch(`T/workflows/${id}`, chain());
  expect(await api().delete(`T/variables/${variable.id}`)).toMatchObject({ status: 200 });
  const answer = { submittedData: { decision: 'approve' } };
  await api().post(`T/workflows/data-collection/${asked.collectionRequestID}/submit`, answer);

  await eventually(async () =>
    expect((await api().get(`T/workflows/instances/${body.instanceID}`)).body).toMatchObject({
      ...{ status: 'COMPLETED', output: { approved: true }, error: null },
    }),
  );
});

test('variables of another tenant are out of reach', async () => {
  const { name } = await aVariable('ours');
  const other = await aTenant(cluster);
  const { id } = await aWorkflow(cluster, { tenant: other, ...chain({}, { leaked: `{{vars.${name}}}` }) });

  const { body } = await cluster.as(other.creator).in(other).post(`T/workflows/${id}/execute?wait=30`);

  expect(body.error.message).toContain(`there is no variable "${name}"`);
});

test('secrets are encrypted again with a new key', async () => {
  const { pool, config } = cluster.context;
  const { id } = await aSecret('to be rotated');
  const [old] = config.secrets.keys;
  const next = { id: 'next', key: Buffer.alloc(32, 7) };
  const secrets = createKeyRing([next, ...(old ? [old] : [])]);

  await rotateAllSecrets(pool, { secrets, logger: testLogger, columns: [sealedColumns.variableSecret] });

  const { rows } = await pool.query<{ secret: string }>('select secret from tenant_variable where id = $1', [id]);
  expect(createKeyRing([next]).open(rows[0]?.secret ?? '', sealedColumns.variableSecret.context(id))).toBe(
    'to be rotated',
  );
});

test('unchanged variables cost no statement, and a change is noticed also if its message is lost', async () => {
  const { pool, secrets } = cluster.context;
  const { id, name } = await aVariable('before');
  const texts: string[] = [];
  const observed = new Proxy(pool, {
    get: (target, key) =>
      key === 'query'
        ? (text: string, values: unknown[]) => {
            texts.push(text);
            return target.query(text, values);
          }
        : Reflect.get(target, key),
  });
  const listeners: ((message: unknown) => void)[] = [];
  const messages = {
    publish: async () => undefined,
    subscribe: (_channel: string, listener: (message: unknown) => void) => {
      listeners.push(listener);
      return () => undefined;
    },
  };
  const needs = { pool: observed, secrets, messages: { ...cluster.backplane.messages, ...messages } };
  using stored = createTenantVariables({ ...needs, checkAfterMs: 3_600_000 });
  using checked = createTenantVariables({ ...needs, checkAfterMs: 0 });
  const valueIn = async (variables: typeof stored) => {
    const variable = (await variables.read(tenant.id)).get(name);
    return variable?.isSecret === false ? variable.value : undefined;
  };

  expect([await valueIn(stored), await valueIn(checked)]).toEqual(['before', 'before']);
  texts.length = 0;
  for (let n = 0; n < 5; n += 1) expect(await valueIn(stored)).toBe('before');
  expect(texts).toEqual([]);
  expect(await valueIn(checked)).toBe('before');
  expect(texts).toHaveLength(1);

  await api().patch(`T/variables/${id}`, { value: 'after' });
  expect([await valueIn(stored), await valueIn(checked)]).toEqual(['before', 'after']);
  for (const listener of listeners) listener({ tenantID: tenant.id });
  expect(await valueIn(stored)).toBe('after');
});
