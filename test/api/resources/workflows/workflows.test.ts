import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { nodes as nodeKinds } from '#shared/workflow/nodes/index.ts';
import { lenient } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import {
  aDatasource,
  aMember,
  anApiKey,
  aTenant,
  aWorkflow,
  chain,
  type TestTenant,
} from '../../../support/factories.ts';
import { code, noop } from '../../../support/graphs.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});

afterAll(() => cluster[Symbol.asyncDispose]());

/** The admin of the tenant. */
const admin = () => cluster.as(tenant.creator).in(tenant);

describe('creating', () => {
  test('answers 201 with the workflow as it was stored', async () => {
    const { nodes, edges } = chain({ step: noop });

    const wanted = {
      title: 'First',
      workflowDescription: 'words',
      workflowNodes: nodes,
      workflowEdges: edges,
      workflowOptions: { inputDefinitions: [{ key: 'n', type: 'number' }], ours: 1 },
    };
    const created = await admin().post('T/workflows', wanted, lenient);
    const read = await admin().get(`T/workflows/${created.body.workflow.id}`);

    expect(created.status).toBe(201);
    expect(created.body.workflow).toMatchObject({
      tenantID: tenant.id,
      title: 'First',
      workflowTitle: 'First',
      workflowDescription: 'words',
      workflowNodes: nodes,
      workflowEdges: edges,
      workflowOptions: { inputDefinitions: [{ key: 'n', type: 'number', required: false }], ours: 1 },
      creatorID: tenant.creator.id,
      createdByApiKeyID: null,
      isDisabled: false,
      folderID: null,
    });
    expect(read.body.workflow).toEqual(created.body.workflow);
  });

  test('stores and names unknown fields of a node, and accepts any fields of the editor', async () => {
    const { nodes, edges } = chain({
      step: { ...noop, retryLimits: 3 },
      ask: { type: 'dataCollection', fields: [{ key: 'a', requierd: true }], formSchema: { any: 1 } },
    });
    const placed = nodes.map((node) => ({ ...node, position: { x: 1, y: 2 }, style: {} }));
    const inputDefinitions = [{ key: 'n', label: 'N', requierd: true, required: false }];
    const workflowOptions = { workflowRunTimeOut: '1h', nodeDefaults: { http: { timeout: 3 } }, inputDefinitions };
    const wanted = { title: 'Typed wrongly', nodes: placed, edges, workflowOptions };

    const created = await admin().post('T/workflows', wanted, lenient);
    expect(created).toMatchObject({ status: 201, body: { workflow: { workflowNodes: placed, workflowOptions } } });
    expect(created.body.unknownFields).toEqual([
      { path: ['nodes', 1, 'data', 'retryLimits'], message: 'not known here; did you mean retryLimit?' },
      { path: ['nodes', 2, 'data', 'fields', 0, 'requierd'], message: 'not known here; did you mean required?' },
      { path: ['workflowOptions', 'workflowRunTimeOut'], message: 'not known here; did you mean workflowRunTimeout?' },
      {
        path: ['workflowOptions', 'nodeDefaults', 'http', 'timeout'],
        message: 'not known here; did you mean timeoutSeconds?',
      },
      { path: ['workflowOptions', 'inputDefinitions', 0, 'requierd'], message: 'not known here' },
    ]);
    expect(await admin().post('T/workflows', wanted)).toMatchObject({ status: 400 });
  });

  test('both spellings mean the same', async () => {
    const { nodes, edges } = chain();

    const { body } = await admin().post('T/workflows', { workflowTitle: 'Other words', nodes, edges });

    expect(body.workflow).toMatchObject({ title: 'Other words', workflowNodes: nodes, workflowEdges: edges });
  });

  test('without a graph is accepted; its execution names what is missing', async () => {
    const { body } = await admin().post('T/workflows', { title: 'Draft' });

    const execution = await admin().post(`T/workflows/${body.workflow.id}/execute`);

    expect(body.workflow).toMatchObject({ workflowNodes: [], workflowEdges: [] });
    expect(execution).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(execution.body.error.message).toContain('start node');
  });

  test('refuses an invalid graph and names the path of each error', async () => {
    const nodes = [
      { id: 'a', type: 'start' },
      { id: 'b', type: 'unheardOf' },
      { id: 'c', type: 'javascript', data: {} },
    ];
    const edges = [{ id: 'e', source: 'a', target: 'nowhere' }];
    const { id } = await aWorkflow(cluster, { tenant });

    const given = [
      [{ nodes, edges }, ['nodes.1', 'nodes.2', 'edges.0']],
      [{ workflowNodes: nodes, edges }, ['workflowNodes.1', 'workflowNodes.2', 'edges.0']],
    ] as const;
    for (const [graph, expected] of given)
      for (const answer of [
        await admin().post('T/workflows', { title: 'Wrong', ...graph }),
        await admin().patch(`T/workflows/${id}`, graph),
        await admin().post('T/workflows/test', graph),
      ]) {
        expect(answer.status).toBe(400);
        const { message, details } = answer.body.error;
        const paths = details.issues.map(({ path }: { path: unknown[] }) => path.slice(0, 2).join('.'));
        expect(paths).toEqual(expect.arrayContaining([...expected]));
        expect(message).toContain(`${expected[0]}.type: unknown node kind`);
      }
  });

  test('refuses a default that does not fit its input, and goes on with one that was saved before', async () => {
    const inputDefinitions = [
      { key: 'n', type: 'number', default: '12' },
      { key: 'list', type: 'array', defaultValue: 'north' },
      { key: 'on', type: 'boolean', default: 'perhaps', required: true },
    ];
    const workflowOptions = { inputDefinitions };
    const { id, versionID } = await aWorkflow(cluster, { tenant });

    for (const { status, body } of [
      await admin().post('T/workflows', { title: 'Wrong', draft: true, workflowOptions }),
      await admin().patch(`T/workflows/${id}`, { workflowOptions }),
    ]) {
      expect(status).toBe(400);
      const path = 'workflowOptions.inputDefinitions';
      expect(body.error.message).toBe(
        [
          `${path}.1.defaultValue: expected a list, or one as JSON text, received "north"`,
          `${path}.2.default: expected true or false, received "perhaps"`,
        ].join('; '),
      );
    }

    await cluster.pool.query('alter table workflow_version disable trigger user');
    await cluster.pool.query('update workflow_version set options = $2 where id = $1', [versionID, workflowOptions]);
    await cluster.pool.query('alter table workflow_version enable trigger user');
    expect((await admin().patch(`T/workflows/${id}`, chain({ step: noop }))).body.workflow).toMatchObject({
      versionNumber: 2,
      workflowOptions,
    });
    const given = { n: 1, list: [], on: true };
    expect((await admin().post(`T/workflows/${id}/execute`, { args: given })).status).toBe(200);
  });

  test.each([
    ['{{ctx.customer}}', '{{ctx.customer}} must begin with ctx.input: the key is known before the run begins'],
    ['order-{{ctx.input.customr}}', 'there is no input "customr"'],
    ['order-{{ctx.input.customer.id}}', null],
    ['all', null],
  ])('refuses a concurrency key that is the same for all runs by mistake: %s', async (key, fault) => {
    const inputDefinitions = [{ key: 'customer', type: 'object' }];
    const workflowOptions = { inputDefinitions, concurrency: { key, limit: 1, onLimit: 'drop' } };

    const { status, body } = await admin().post('T/workflows', { title: 'Keyed', ...chain(), workflowOptions });

    expect(status).toBe(fault === null ? 201 : 400);
    if (fault !== null) expect(body.error.message).toBe(`workflowOptions.concurrency.key: ${fault}`);
  });

  test('the same Idempotency-Key creates one workflow', async () => {
    const headers = { 'Idempotency-Key': newID() };
    const title = `Once ${newID()}`;

    const answers = await Promise.all([1, 2, 3].map(() => admin().post('T/workflows', { title }, headers)));
    const list = await admin().get(`T/workflows?search=${encodeURIComponent(title)}`);
    const other = await admin().post('T/workflows', { title: 'Other' }, headers);

    expect(new Set(answers.map(({ body }) => body.workflow.id)).size).toBe(1);
    expect(list.body.totalCount).toBe(1);
    expect(other.status).toBe(409);
  });

  test('text that Postgres cannot hold is refused with a 400', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    for (const text of ['nul \u0000 inside', 'half \ud83d'])
      for (const answer of [
        await admin().post('T/workflows', { title: text }),
        await admin().post('T/workflows', { title: 'x', ...chain({ step: code(text) }) }),
        await admin().post(`T/workflows/${id}/execute`, { args: { [text]: 1 } }),
        await admin().get(`T/workflows?search=${encodeURIComponent(text.toWellFormed())}`),
      ])
        expect(answer.status).toBeLessThan(500);
    expect((await admin().post('T/workflows', { title: 'nul \u0000' })).status).toBe(400);
    expect((await admin().post('T/workflows', { title: 'half \ud83d' })).status).toBe(400);
    expect((await admin().post('T/workflows', { title: 'written out: \\u0000 and \\ud83d, whole: 😀' })).status).toBe(
      201,
    );
  });
});

describe('creating deeply nested values', () => {
  test.each([300, 3_000, 200_000])('%i levels are refused in every field', async (levels) => {
    const deep = '['.repeat(levels) + ']'.repeat(levels);
    const node = `{"id":"start","type":"start","position":${deep}}`;

    for (const body of [`"nodes":[${node}],"edges":[]`, `"workflowOptions":{"x":${deep}}`]) {
      const answer = await admin().post('T/workflows', `{"title":"x",${body}}`);
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    }
  });
});

describe('updating', () => {
  test('without nodes and edges keeps the graph', async () => {
    const { id, versionID } = await aWorkflow(cluster, { tenant, ...chain({ step: noop }) });

    const { status, body } = await admin().patch(`T/workflows/${id}`, { workflowTitle: 'Renamed' });

    expect(status).toBe(200);
    expect(body.workflow.title).toBe('Renamed');
    expect(body.workflow.workflowNodes).toHaveLength(3);
    expect(await versionOf(id)).toBe(versionID);
  });

  test('null clears description, folder and graph', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    const folder = await admin().post('T/folders', { entityType: 'workflow', folderTitle: 'Orders' });
    const folderID = folder.body.folder.id;
    await admin().patch(`T/workflows/${id}`, { workflowDescription: 'words', folderID });

    const { body } = await admin().patch(`T/workflows/${id}`, {
      workflowDescription: null,
      folderID: null,
      nodes: null,
    });

    expect(body.workflow).toMatchObject({
      workflowDescription: null,
      folderID: null,
      workflowNodes: [],
      workflowEdges: [],
    });
  });

  test('a changed graph is a new version; runs in progress keep theirs', async () => {
    const { id, versionID } = await aWorkflow(cluster, { tenant });
    const run = await admin().post(`T/workflows/${id}/execute`);

    const { nodes, edges } = chain({ added: noop });
    await admin().patch(`T/workflows/${id}`, { nodes, edges });

    expect(await versionOf(id)).not.toBe(versionID);
    expect(await versionOfRun(run.body.instanceID)).toBe(versionID);
  });

  test('an unchanged graph is no new version', async () => {
    const { nodes, edges } = chain({ step: noop });
    const { id, versionID } = await aWorkflow(cluster, { tenant, nodes, edges });

    await admin().patch(`T/workflows/${id}`, { workflowNodes: nodes, workflowEdges: edges });

    expect(await versionOf(id)).toBe(versionID);
  });

  test('edges alone are checked against the stored nodes', async () => {
    const { id } = await aWorkflow(cluster, { tenant });

    const answer = await admin().patch(`T/workflows/${id}`, { edges: [{ id: 'e', source: 'start', target: 'gone' }] });

    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
  });

  test('two concurrent updates keep both changes', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    const { nodes, edges } = chain({ step: noop });

    await Promise.all([
      admin().patch(`T/workflows/${id}`, { nodes, edges }),
      admin().patch(`T/workflows/${id}`, { workflowOptions: { workflowRunTimeout: '1 h' } }),
      admin().patch(`T/workflows/${id}`, { workflowDescription: 'words' }),
    ]);
    const { body } = await admin().get(`T/workflows/${id}`);

    expect(body.workflow).toMatchObject({
      workflowDescription: 'words',
      workflowNodes: nodes,
      workflowOptions: { workflowRunTimeout: '1 h' },
    });
  });
});

describe('sub-workflows', () => {
  const calling = (childWorkflowID: string) => chain({ child: { type: 'subWorkflow', childWorkflowID } });

  test('must exist in the same tenant and be another workflow', async () => {
    const elsewhere = await aWorkflow(cluster);
    const own = await aWorkflow(cluster, { tenant });

    const answers = [
      await admin().post('T/workflows', { title: 'x', ...calling(newID()) }),
      await admin().post('T/workflows', { title: 'x', ...calling(elsewhere.id) }),
      await admin().patch(`T/workflows/${own.id}`, calling(own.id)),
      await admin().post('T/workflows/test', calling(elsewhere.id)),
    ];

    for (const { status, body } of answers) {
      expect(status).toBe(400);
      expect(body.error.details.issues).toMatchObject([{ path: ['nodes', 1, 'data', 'childWorkflowID'] }]);
    }
  });

  test('a caller who may not execute a sub-workflow can neither save, copy, test nor execute a graph that calls it', async () => {
    const child = await aWorkflow(cluster, { tenant });
    const parent = await aWorkflow(cluster, { tenant, ...calling(child.id) });
    const can = ['workflow.create', 'workflow.update', 'workflow.read', 'workflow.test'] as const;
    const rules = [{ object: `workflow:${parent.id}`, action: 'execute' }];
    const member = cluster.as(await aMember(cluster, { tenant, can, rules })).in(tenant);

    const answers = [
      await member.post('T/workflows', { title: 'x', ...calling(child.id) }),
      await member.post('T/workflows', { title: 'x', ...calling(child.id.toUpperCase()) }),
      await member.patch(`T/workflows/${parent.id}`, calling(child.id)),
      await member.post(`T/workflows/${parent.id}/clone`),
      await member.post('T/workflows/test', calling(child.id)),
      await member.post(`T/workflows/${parent.id}/execute`),
    ];
    const renamed = await member.patch(`T/workflows/${parent.id}`, { workflowTitle: 'Allowed' });

    for (const answer of answers)
      expect(answer).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION_DENIED' } } });
    expect(renamed.status).toBe(200);
  });
});

describe('listing', () => {
  test('newest first, with graphs unless a summary is requested', async () => {
    const own = await aTenant(cluster);
    const api = cluster.as(own.creator).in(own);
    const [first, second] = [await aWorkflow(cluster, { tenant: own }), await aWorkflow(cluster, { tenant: own })];

    const full = await api.get('T/workflows');
    const summary = await api.get('T/workflows?fields=summary');

    expect(full.body).toMatchObject({ totalCount: 2, totalPages: 1, page: 1, pageSize: 1000, nextCursor: null });
    expect(full.body.workflows.map(({ id }: { id: string }) => id)).toEqual([second.id, first.id]);
    expect(full.body.workflows[0].workflowNodes).toHaveLength(2);
    expect(summary.body.workflows[0]).not.toHaveProperty('workflowNodes');
  });

  test('search finds part of a title in any letter case, and takes no wildcards', async () => {
    const own = await aTenant(cluster);
    const api = cluster.as(own.creator).in(own);
    await aWorkflow(cluster, { tenant: own, title: 'Monthly 100% report' });
    await aWorkflow(cluster, { tenant: own, title: 'Nightly backup' });
    const found = async (text: string) =>
      (await api.get(`T/workflows?search=${encodeURIComponent(text)}`)).body.totalCount;

    expect(await found('MONTHLY')).toBe(1);
    expect(await found('100%')).toBe(1);
    expect(await found('ly')).toBe(2);
    expect(await found('%')).toBe(1);
    expect(await found('_')).toBe(0);
  });

  test('only workflows that the member may read', async () => {
    const own = await aTenant(cluster);
    const [seen, hidden] = [await aWorkflow(cluster, { tenant: own }), await aWorkflow(cluster, { tenant: own })];
    const everywhere = await aMember(cluster, {
      tenant: own,
      can: ['workflow.list', 'workflow.read'],
      rules: [{ object: `workflow:${hidden.id}`, action: 'read', effect: 'deny' }],
    });
    const one = await aMember(cluster, {
      tenant: own,
      can: ['workflow.list'],
      rules: [{ object: `workflow:${seen.id}`, action: 'read' }],
    });

    for (const user of [everywhere, one]) {
      const { body } = await cluster.as(user).in(own).get('T/workflows');
      expect(body.workflows.map(({ id }: { id: string }) => id)).toEqual([seen.id]);
      expect(body.totalCount).toBe(1);
    }
  });

  test('a page may have up to 1000 workflows', async () => {
    expect((await admin().get('T/workflows?pageSize=1000')).status).toBe(200);
    const tooLate = `cursor=${Buffer.from(`8640000000000000.${newID()}`).toString('base64url')}`;
    for (const query of ['pageSize=1001', 'pageSize=0', 'page=0', 'limit=1001', 'cursor=x', tooLate, 'page=x'])
      expect((await admin().get(`T/workflows?${query}`)).status).toBe(400);
  });
});

describe('cloning', () => {
  test('copies everything under a new title, and does not change the original', async () => {
    const original = await aWorkflow(cluster, { tenant, title: 'x'.repeat(255), ...chain({ step: noop }) });

    const { status, body } = await admin().post(`T/workflows/${original.id}/clone`);
    await admin().patch(`T/workflows/${body.workflow.id}`, { nodes: null });
    const after = await admin().get(`T/workflows/${original.id}`);

    expect(status).toBe(201);
    expect(body.workflow.title).toBe(`${'x'.repeat(248)} (Copy)`);
    expect(body.workflow.workflowNodes).toHaveLength(3);
    expect(after.body.workflow.workflowNodes).toHaveLength(3);
  });

  test('the caller owns the copy', async () => {
    const original = await aWorkflow(cluster, { tenant });
    const member = await aMember(cluster, { tenant, can: ['workflow.read', 'workflow.create'] });
    const api = cluster.as(member).in(tenant);

    const { body } = await api.post(`T/workflows/${original.id}/clone`);

    expect((await api.delete(`T/workflows/${body.workflow.id}`)).status).toBe(200);
    expect((await api.delete(`T/workflows/${original.id}`)).status).toBe(403);
  });
});

describe('deleting', () => {
  test('ends its runs in flight, keeps their record, and deletes its rules', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    const run = await admin().post(`T/workflows/${id}/execute`);

    const { status, body } = await admin().delete(`T/workflows/${id}`);
    const read = await admin().get(`T/workflows/instances/${run.body.instanceID}`);
    const rules = await cluster.context.pool.query('select from policy_rule where object = $1', [`workflow:${id}`]);

    expect(status).toBe(200);
    expect(body.message).toEqual(expect.any(String));
    expect((await admin().get(`T/workflows/${id}`)).status).toBe(404);
    expect(read.body).toMatchObject({ workflowID: id, workflowTitle: null, status: 'CANCELLED' });
    expect(rules.rowCount).toBe(0);
  });
});

describe('deleting a workflow that something starts', () => {
  test('is refused with the names, unless it is forced; what is switched off does not count', async () => {
    const api = admin();
    const { id } = await aWorkflow(cluster, { tenant });
    const job = {
      ...{ cronJobTitle: 'Nightly', cronJobSchedule: '0 3 * * *', cronJobType: 'workflow' },
      cronJobConfig: { workflowID: id },
    };
    const page = (alias: string, isDraft: boolean) => ({
      appPageTitle: `Page ${alias}`,
      appPageConfig: { dataSources: [{ alias, type: 'workflow', workflowID: id }] },
      isDraft,
    });
    const datasource = await aDatasource(cluster, { tenant, type: 'webhook', options: {} });
    const listener = (listenerTitle: string, status: string, isEnabled: boolean) => ({
      ...{ listenerTitle, datasourceID: datasource.id, endpointPath: newID(), status },
      actions: [{ actionType: 'trigger_workflow', actionConfig: { workflowID: id.toUpperCase() }, isEnabled }],
    });
    const made = async (path: string, body: object) => {
      const answer = await api.post(`T/${path}`, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return Object.values(answer.body as Record<string, { id?: string }>).find(({ id: made }) => made)?.id;
    };
    for (const off of [listener('Inactive', 'inactive', true), listener('No action', 'active', false)])
      await made('listeners', off);
    await made('cronjobs', { ...job, cronJobEnabled: false });
    await made('app-pages', page('draft', true));
    const none = (await api.get(`T/workflows/${id}/usage`)).body;
    const listenerID = await made('listeners', listener('Orders', 'active', true));
    const cronJobID = await made('cronjobs', job);
    const appPageID = await made('app-pages', page('shown', false));

    const refused = await api.delete(`T/workflows/${id}`);
    const starters = {
      listeners: [{ listenerID, listenerTitle: 'Orders' }],
      cronJobs: [{ cronJobID, cronJobTitle: 'Nightly' }],
      appPages: [{ appPageID, appPageTitle: 'Page shown' }],
    };
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatchObject({
      code: 'CONFLICT',
      message: '3 listeners, cron jobs or pages start this workflow; force=true deletes it all the same',
      details: { ...starters, others: 0 },
    });
    expect((await api.get(`T/workflows/${id}/usage`)).body).toMatchObject({ ...starters, otherStarters: 0 });
    expect(none).toEqual({
      success: true,
      workflows: [],
      others: 0,
      listeners: [],
      cronJobs: [],
      appPages: [],
      otherStarters: 0,
    });
    // A caller who may not read them learns how many there are.
    const deleter = await aMember(cluster, { tenant, can: ['workflow.delete'] });
    const { details } = (await cluster.as(deleter).in(tenant).delete(`T/workflows/${id}`)).body.error;
    expect(details).toEqual({ listeners: [], cronJobs: [], appPages: [], others: 3 });
    expect((await api.delete(`T/workflows/${id}?force=true`)).status).toBe(200);
    expect((await api.get(`T/workflows/${id}`)).status).toBe(404);
  });
});

describe('executing', () => {
  const inputDefinitions = [
    { key: 'n', type: 'number' as const, required: true },
    { key: 'note', type: 'string' as const },
  ];

  test('accepts a run with the declared inputs', async () => {
    const { id } = await aWorkflow(cluster, { tenant, options: { inputDefinitions } });

    const byArgs = await admin().post(`T/workflows/${id}/execute`, { args: { n: '7', other: true } });
    const byInputs = await admin().post(`T/workflows/${id}/execute`, { inputValues: { n: 8 } });

    expect(byArgs.status).toBe(200);
    expect(byArgs.body).toEqual({ success: true, instanceID: expect.any(String) });
    expect((await instance(byArgs.body.instanceID)).body).toMatchObject({
      status: 'PENDING',
      input: { n: 7, note: null },
    });
    expect((await instance(byInputs.body.instanceID)).body).toMatchObject({ input: { n: 8, note: null } });
  });

  test('refuses inputs that differ by their two names', async () => {
    const { id } = await aWorkflow(cluster, { tenant, options: { inputDefinitions } });
    const both = (args: object, inputValues: object) => ({ args, inputValues });
    const issues = (at: readonly (string | number)[] = []) => [{ path: [...at, 'inputValues'] }];

    for (const path of [`T/workflows/${id}/execute`, `T/workflows/${id}/plan`])
      expect(await admin().post(path, both({ n: 1 }, { n: 2 }))).toMatchObject({
        status: 400,
        body: { error: { code: 'VALIDATION_ERROR', details: { issues: issues() } } },
      });
    expect((await admin().post(`T/workflows/${id}/execute`, both({ n: 1 }, { n: 1 }))).status).toBe(200);
    const bulk = await admin().post(`T/workflows/${id}/execute/bulk`, { items: [both({ n: 1 }, { n: 2 })] });
    expect(bulk.body.items[0].error.details.issues).toMatchObject(issues(['items', 0]));
  });

  test('refuses wrong inputs and starts nothing', async () => {
    const { id } = await aWorkflow(cluster, { tenant, options: { inputDefinitions } });

    for (const field of ['args', 'inputValues'])
      for (const inputs of [{}, { n: 'seven' }, { n: null }])
        expect(await admin().post(`T/workflows/${id}/execute`, { [field]: inputs })).toMatchObject({
          status: 400,
          body: {
            error: {
              code: 'VALIDATION_ERROR',
              message: expect.stringMatching(new RegExp(`^${field}\\.n: `)),
              details: { issues: [{ path: [field, 'n'] }] },
            },
          },
        });
    const options = { workflowOptions: { inputDefinitions }, inputValues: { n: 'seven' } };
    expect((await admin().post('T/workflows/test', { ...chain(), ...options })).body.error.message).toMatch(
      /^inputValues\.n: /,
    );
    expect((await admin().get(`T/workflows/instances?workflowID=${id}`)).body.totalCount).toBe(0);
  });

  test('the same Idempotency-Key is one run; with another body it is a conflict', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    const headers = { 'Idempotency-Key': newID() };

    const answers = await Promise.all(
      Array.from({ length: 5 }, () => admin().post(`T/workflows/${id}/execute`, { args: { a: 1 } }, headers)),
    );
    const other = await admin().post(`T/workflows/${id}/execute`, { args: { a: 2 } }, headers);

    expect(new Set(answers.map(({ body }) => body.instanceID)).size).toBe(1);
    expect(other).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
  });

  test('a disabled workflow is not executed', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    await admin().patch(`T/workflows/${id}`, { isDisabled: true });

    expect((await admin().post(`T/workflows/${id}/execute`)).status).toBe(409);
  });

  describe('what is kept between two executions', () => {
    const execute = (id: string, user = tenant.creator) =>
      cluster
        .as(user)
        .in(tenant)
        .post(`T/workflows/${id}/execute`, { args: { n: '7' } });

    test('is not the workflow: a change counts at the next execution', async () => {
      const { id } = await aWorkflow(cluster, { tenant });
      const statuses = [(await execute(id)).status];
      for (const isDisabled of [true, false]) {
        await admin().patch(`T/workflows/${id}`, { isDisabled });
        statuses.push((await execute(id)).status);
      }
      const inputDefinitions = [{ key: 'n', type: 'number' as const }];
      await admin().patch(`T/workflows/${id}`, { workflowOptions: { inputDefinitions } });
      const changed = await instance((await execute(id)).body.instanceID);
      await admin().patch(`T/workflows/${id}`, { nodes: [], edges: [] });
      statuses.push((await execute(id)).status);
      await admin().delete(`T/workflows/${id}`);
      statuses.push((await execute(id)).status);

      expect(statuses).toEqual([200, 409, 200, 400, 404]);
      expect(changed.body.input).toEqual({ n: 7 });
    });

    test('is no right: one that is taken away counts at the next execution', async () => {
      const child = await aWorkflow(cluster, { tenant });
      const parent = await aWorkflow(cluster, {
        tenant,
        ...chain({ call: { type: 'subWorkflow', childWorkflowID: child.id } }),
      });
      const member = await aMember(cluster, { tenant, can: ['workflow.execute'] });
      const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
      const denyChild = {
        subject: member.id,
        object: `workflow:${child.id}`,
        action: 'execute',
        effect: 'deny' as const,
      };

      const statuses = [(await execute(parent.id, member)).status];
      await changeRules(em, tenant.id, { add: [denyChild] });
      statuses.push((await execute(parent.id, member)).status);
      await changeRules(em, tenant.id, { remove: [denyChild] });
      statuses.push((await execute(parent.id, member)).status);
      await changeRules(em, tenant.id, { remove: [{ subject: member.id }] });
      statuses.push((await execute(parent.id, member)).status);
      await cluster.pool.query('update app_user set is_disabled = true where id = $1', [member.id]);
      statuses.push((await execute(parent.id, member)).status);

      expect(statuses).toEqual([200, 403, 200, 403, 401]);
    });

    test('is the same for an API key', async () => {
      const { id } = await aWorkflow(cluster, { tenant });
      const elsewhere = await aWorkflow(cluster);
      const key = await anApiKey(cluster, { tenant, can: ['workflow.execute'] });
      const byKey = (workflowID: string) => cluster.withKey(key).in(tenant).post(`T/workflows/${workflowID}/execute`);

      const statuses = [(await byKey(id)).status, (await byKey(elsewhere.id)).status];
      await admin().patch(`T/workflows/${id}`, { isDisabled: true });
      statuses.push((await byKey(id)).status);

      expect(statuses).toEqual([200, 404, 409]);
    });

    test('is of one tenant: another one does not find the workflow', async () => {
      const { id } = await aWorkflow(cluster, { tenant });
      const other = await aTenant(cluster);

      const [own, theirs] = await Promise.all([
        execute(id),
        cluster.as(other.creator).in(other).post(`T/workflows/${id}/execute`),
      ]);

      expect([own.status, theirs.status]).toEqual([200, 404]);
    });
  });

  test('a test runs a graph that is not saved', async () => {
    const { nodes, edges } = chain({ step: noop });

    const { status, body } = await admin().post('T/workflows/test', { nodes, edges, args: { a: 1 } });
    const read = await instance(body.instanceID);

    expect(status).toBe(200);
    expect(body).toEqual({ success: true, instanceID: expect.any(String), isTest: true });
    expect(read.body).toMatchObject({ isTest: true, workflowID: null, workflowTitle: null, input: { a: 1 } });
  });

  test('a test without a graph and without a workflow says that either would do', async () => {
    const { status, body } = await admin().post('T/workflows/test', {});

    expect(status).toBe(400);
    expect(body.error.message).toContain('nodes: is required; in place of a graph, `workflowID` names the stored');
  });

  test('a test may name a saved workflow, but not an unknown one', async () => {
    const { id } = await aWorkflow(cluster, { tenant });

    const { body } = await admin().post('T/workflows/test', { ...chain(), workflowID: id });
    const wrong = await admin().post('T/workflows/test', { ...chain(), workflowID: newID() });

    expect((await instance(body.instanceID)).body).toMatchObject({ isTest: true, workflowID: id });
    expect(wrong.body.error.details.issues).toMatchObject([{ path: ['workflowID'] }]);
  });
});

describe('instances', () => {
  test('the list is filtered by workflow, status, test and parent, newest first', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    const runs = [];
    for (let n = 0; n < 3; n += 1) runs.push((await admin().post(`T/workflows/${id}/execute`)).body.instanceID);
    await admin().delete(`T/workflows/instances/${runs[0]}/stop`);
    const found = async (query: string) => {
      const { body } = await admin().get(`T/workflows/instances?workflowID=${id}&${query}`);
      return body.instances.map(({ instanceID }: { instanceID: string }) => instanceID);
    };

    expect(await found('')).toEqual([...runs].reverse());
    expect(await found('status=CANCELLED')).toEqual([runs[0]]);
    expect(await found('isTest=true')).toEqual([]);
    expect(await found('isTest=false&pageSize=1&page=2')).toEqual([runs[1]]);
    expect(await found(`parentInstanceID=${runs[0]}`)).toEqual([]);
    expect((await admin().get('T/workflows/instances?pageSize=101')).status).toBe(400);
  });

  test('cursors page through runs that were accepted in one moment', async () => {
    const own = await aTenant(cluster);
    const workflow = await aWorkflow(cluster, { tenant: own });
    const caller = { type: 'system', id: own.id, origin: 'direct' } as const;
    const run = {
      tenantID: own.id,
      workflowID: workflow.id,
      versionID: workflow.versionID,
      caller,
      input: {},
      timeoutMs: 60_000,
    };
    const ids = await cluster.context.runs.acceptMany(Array.from({ length: 25 }, () => run));

    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await cluster
        .as(own.creator)
        .in(own)
        .get(`T/workflows/instances?limit=4${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.instances.map(({ instanceID }: { instanceID: string }) => instanceID));
      if (body.nextCursor === null) break;
      cursor = body.nextCursor;
    }

    expect(seen).toEqual([...ids].reverse());
  });

  test('stopping cancels, and a second stop answers with the final status', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    const { instanceID } = (await admin().post(`T/workflows/${id}/execute`)).body;

    const first = await admin().delete(`T/workflows/instances/${instanceID}/stop`);
    const second = await admin().delete(`T/workflows/instances/${instanceID}/stop`);

    for (const { status, body } of [first, second]) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ instanceID, status: 'CANCELLED' });
    }
  });

  test('are found only by callers who may read their workflow', async () => {
    const [mine, theirs] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
    const rules = ['read', 'execute'].map((action) => ({ object: `workflow:${mine.id}`, action }));
    const member = cluster.as(await aMember(cluster, { tenant, rules })).in(tenant);
    const own = (await admin().post(`T/workflows/${mine.id}/execute`)).body.instanceID;
    const other = (await admin().post(`T/workflows/${theirs.id}/execute`)).body.instanceID;
    const unsaved = (await admin().post('T/workflows/test', chain())).body.instanceID;

    const list = await member.get('T/workflows/instances');
    const filtered = await member.get(`T/workflows/instances?workflowID=${theirs.id}`);

    expect(list.body.instances.map(({ instanceID }: { instanceID: string }) => instanceID)).toEqual([own]);
    expect(filtered.body.totalCount).toBe(0);
    expect((await member.get(`T/workflows/instances/${own}`)).status).toBe(200);
    for (const id of [other, unsaved, newID()]) {
      expect((await member.get(`T/workflows/instances/${id}`)).status).toBe(403);
      expect((await member.delete(`T/workflows/instances/${id}/stop`)).status).toBe(403);
    }
    expect((await admin().get(`T/workflows/instances/${newID()}`)).status).toBe(404);
    expect((await admin().delete(`T/workflows/instances/${newID()}/stop`)).status).toBe(404);
  });

  test('a run without a worker says so', async () => {
    const { id } = await aWorkflow(cluster, { tenant });
    const { instanceID } = (await admin().post(`T/workflows/${id}/execute`)).body;

    expect((await instance(instanceID)).body).toMatchObject({
      status: 'PENDING',
      waiting: { reason: 'no-worker' },
      waitReason: { code: 'no-worker' },
      timeline: [],
      nodes: [],
      nextSeq: null,
      output: null,
      error: null,
    });
  });
});

describe('schemas', () => {
  test('describe every node kind', async () => {
    const { body } = await admin().get('T/workflows/schemas');

    expect(Object.keys(body.schemas)).toEqual(nodeKinds.map(({ kind }) => kind));
    expect(body.schemas.javascript).toMatchObject({
      nodeType: 'javascript',
      label: 'JavaScript',
      schema: { type: 'object', required: ['code'] },
      uischema: { type: 'VerticalLayout' },
      defaultValue: { code: expect.any(String) },
    });
  });

  test('describe one kind, and answer 404 for an unknown one', async () => {
    const one = await admin().get('T/workflows/schemas?nodeType=delay');
    const none = await admin().get('T/workflows/schemas?nodeType=unheardOf');

    expect(Object.keys(one.body.schemas)).toEqual(['delay']);
    expect(none).toMatchObject({ status: 404, body: { error: { code: 'SCHEMA_NOT_FOUND' } } });
  });
});

describe('data collection', () => {
  const fields = [
    { key: 'name', fieldType: 'text', required: true },
    { key: 'age', fieldType: 'number' },
    { key: 'agreed', fieldType: 'checkbox', required: true },
    { key: 'colour', fieldType: 'dropdown', options: ['red', { label: 'Blue', value: 'blue' }] },
  ];

  test('an ask can be read and answered once', async () => {
    const { id, instanceID } = await aRequest({ fields });

    const read = await admin().get(`T/workflows/data-collection/${id}`);
    const answers = await Promise.all(
      [1, 2, 3].map((n) => submit(id, { name: `${n}`, age: '41', agreed: true, colour: 'blue', more: 1 })),
    );
    const after = await admin().get(`T/workflows/data-collection/${id}`);

    expect(read.body.request).toMatchObject({
      collectionRequestID: id,
      instanceID,
      status: 'PENDING',
      submittedData: null,
    });
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(after.body.request).toMatchObject({
      status: 'COMPLETED',
      submittedData: { name: expect.any(String), age: 41, agreed: true, colour: 'blue' },
      submittedBy: tenant.creator.id,
    });
    expect(after.body.request.submittedData).not.toHaveProperty('more');
  });

  test('an answer makes the run ready', async () => {
    const { id, instanceID } = await aRequest({ fields: [] });

    await submit(id, { anything: [1] });

    const { rows } = await cluster.context.pool.query(
      'select ready_at, wake_seq from workflow_instance where id = $1',
      [instanceID],
    );
    expect(rows[0]).toMatchObject({ ready_at: expect.any(Date), wake_seq: 1 });
  });

  test('an answer must fit the fields', async () => {
    const { id } = await aRequest({ fields });
    const good = { name: 'x', agreed: false };

    for (const [key, value] of [
      ['name', ''],
      ['name', 7],
      ['age', 'old'],
      ['agreed', 'maybe'],
      ['colour', 'green'],
    ] as const) {
      const { status, body } = await submit(id, { ...good, [key]: value });
      expect(status).toBe(400);
      expect(body.error.details.issues).toMatchObject([{ path: ['submittedData', key] }]);
    }
    expect((await submit(id, good)).status).toBe(200);
  });

  test('an answer after the deadline is refused', async () => {
    const { id } = await aRequest({ fields: [], expiresAt: new Date(Date.now() - 1_000) });
    const cancelled = await aRequest({ fields: [] });
    await admin().delete(`T/workflows/instances/${cancelled.instanceID}/stop`);

    for (const one of [id, cancelled.id])
      expect(await submit(one, {})).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
  });

  test('follows the permissions on the workflow of the ask', async () => {
    const { id, workflowID } = await aRequest({ fields: [] });
    const readers = await aMember(cluster, { tenant, rules: [{ object: `workflow:${workflowID}`, action: 'read' }] });
    const others = await aMember(cluster, { tenant, rules: [{ object: `workflow:${newID()}`, action: 'read' }] });

    expect((await cluster.as(readers).in(tenant).get(`T/workflows/data-collection/${id}`)).status).toBe(200);
    const submission = { submittedData: {} };
    expect(
      (await cluster.as(readers).in(tenant).post(`T/workflows/data-collection/${id}/submit`, submission)).status,
    ).toBe(403);
    for (const one of [id, newID()])
      expect((await cluster.as(others).in(tenant).get(`T/workflows/data-collection/${one}`)).status).toBe(403);
    expect((await submit(newID(), {})).status).toBe(404);
  });

  const submit = (id: string, submittedData: JsonObject) =>
    admin().post(`T/workflows/data-collection/${id}/submit`, { submittedData });

  /** A run that waits for an answer, as the engine leaves it. */
  async function aRequest({ fields: wanted, expiresAt = null }: { fields: object[]; expiresAt?: Date | null }) {
    const workflow = await aWorkflow(cluster, { tenant });
    const { instanceID } = (await admin().post(`T/workflows/${workflow.id}/execute`)).body;
    const id = newID();
    const { pool } = cluster.context;
    await pool.query(
      `update workflow_instance set status = 'WAITING', ready_at = null, dispatched_at = null, started_at = now() where id = $1`,
      [instanceID],
    );
    await pool.query(
      `insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config, expires_at)
       values ($1, $2, $3, 'ask', 'form', $4, $5)`,
      [id, tenant.id, instanceID, JSON.stringify({ collectionType: 'form', fields: wanted }), expiresAt],
    );
    return { id, instanceID, workflowID: workflow.id };
  }
});

const instance = (id: string) => admin().get(`T/workflows/instances/${id}`);

async function versionOf(id: string): Promise<unknown> {
  const { rows } = await cluster.context.pool.query('select version_id from workflow where id = $1', [id]);
  return rows[0]?.version_id;
}

async function versionOfRun(id: string): Promise<unknown> {
  const { rows } = await cluster.context.pool.query('select version_id from workflow_instance where id = $1', [id]);
  return rows[0]?.version_id;
}
