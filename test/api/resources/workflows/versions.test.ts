import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import {
  aDataQuery,
  aMember,
  anApiKey,
  aTenant,
  aWorkflow,
  chain,
  type TestTenant,
} from '../../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});

afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

/** A graph whose runs answer with this word. */
const saying = (word: string) => chain({}, { word });

async function aSaved(word = 'one', more: object = {}) {
  const { body } = await api().post('T/workflows', { title: 'Versioned', ...saying(word), ...more });
  return body.workflow as { id: string; versionID: string };
}

/** The answer of a run of the published version, or of this one. */
async function wordOf(id: string, version?: string | number): Promise<unknown> {
  const suffix = version === undefined ? '' : `&version=${version}`;
  const { body } = await api().post(`T/workflows/${id}/execute?wait=30${suffix}`);
  return body.output?.word ?? body.error?.code;
}

const versionsOf = async (id: string) => (await api().get(`T/workflows/${id}/versions`)).body.versions;

test('each change of the graph is a version, with its author and the time, and is executed', async () => {
  const { id } = await aSaved();
  const key = await anApiKey(cluster, { tenant, can: ['workflow.update'] });

  await api().patch(`T/workflows/${id}`, saying('one'));
  await api().patch(`T/workflows/${id}`, { title: 'No change of the graph' });
  const changed = await cluster.withKey(key).in(tenant).patch(`T/workflows/${id}`, saying('two'));

  const versions = await versionsOf(id);
  expect(versions).toMatchObject([
    { versionNumber: 2, isPublished: true, creatorID: tenant.creator.id, createdByApiKeyID: key.id, label: null },
    { versionNumber: 1, isPublished: false, creatorID: tenant.creator.id, createdByApiKeyID: null },
  ]);
  for (const { publishedBy, publishedAt, createdAt } of versions) {
    expect(publishedBy).toBe(tenant.creator.id);
    expect(Date.parse(publishedAt)).toBeGreaterThanOrEqual(Date.parse(createdAt) - 1_000);
  }
  const [{ versionID }] = versions;
  expect(changed.body.workflow).toMatchObject({ versionID, versionNumber: 2, publishedVersionID: versionID });
  expect(await wordOf(id)).toBe('two');
});

test('a change from an older version than the latest is refused by `If-Match`, and undoes nothing', async () => {
  const { id } = await aSaved();
  const { headers } = await api().get(`T/workflows/${id}`);
  const etag = headers.get('etag') ?? '';
  expect(etag).toBe('"1"');

  const first = await api().patch(`T/workflows/${id}`, saying('two'), { 'if-match': etag });
  expect({ status: first.status, etag: first.headers.get('etag') }).toEqual({ status: 200, etag: '"2"' });
  const late = await api().patch(`T/workflows/${id}`, { ...saying('three'), draft: true }, { 'if-match': etag });
  expect(late).toMatchObject({
    status: 412,
    body: { error: { code: 'PRECONDITION_FAILED', details: { versionNumber: 2, etag: '"2"' } } },
  });
  expect(await versionsOf(id)).toHaveLength(2);
  expect((await api().patch(`T/workflows/${id}`, saying('three'))).status).toBe(200);
});

test('a client that has cached an answer is told what has changed since, also beside the version', async () => {
  const { id } = await aSaved();
  // As browsers ask. Without the second header this client would add one that asks for a whole answer.
  const cached = { 'if-none-match': '"1"', 'cache-control': 'max-age=0' };
  await api().post(`T/workflows/${id}/pause`);
  const { status, body } = await api().get(`T/workflows/${id}`, cached);
  expect([status, typeof body.workflow?.pausedAt]).toEqual([200, 'string']);
});

test('a draft is shown and not executed, until a version is executed by name or published', async () => {
  const { id, versionID } = await aSaved();
  const { body } = await api().patch(`T/workflows/${id}`, { ...saying('draft'), draft: true });

  expect(body.workflow).toMatchObject({ versionNumber: 2, publishedVersionID: versionID });
  const read = await api().get(`T/workflows/${id}`);
  expect(read.body.workflow).toEqual(body.workflow);
  const list = await api().get('T/workflows');
  expect(list.body.workflows.find((one: { id: string }) => one.id === id)).toEqual(body.workflow);
  const summaries = await api().get('T/workflows?fields=summary');
  const { workflowNodes: _nodes, workflowEdges: _edges, ...summary } = body.workflow;
  expect(summaries.body.workflows.find((one: { id: string }) => one.id === id)).toEqual(summary);
  expect(await wordOf(id)).toBe('one');
  for (const version of [2, body.workflow.versionID]) expect(await wordOf(id, version)).toBe('draft');
  expect(await wordOf(id, 1)).toBe('one');
  expect(await wordOf(id, 'latest')).toBe('VALIDATION_ERROR');

  const published = await api().post(`T/workflows/${id}/versions/${body.workflow.versionID}/publish`);
  expect(published.body.workflow).toMatchObject({ publishedVersionID: body.workflow.versionID });
  expect(await wordOf(id)).toBe('draft');
});

test('a change of the title leaves a draft unpublished, and the same graph without `draft` publishes it', async () => {
  const { id, versionID } = await aSaved();
  await api().patch(`T/workflows/${id}`, { ...saying('draft'), draft: true });

  const renamed = await api().patch(`T/workflows/${id}`, { title: 'Renamed' });
  expect(renamed.body.workflow).toMatchObject({ publishedVersionID: versionID });
  const saved = await api().patch(`T/workflows/${id}`, saying('draft'));

  expect(saved.body.workflow).toMatchObject({ versionNumber: 2, publishedVersionID: saved.body.workflow.versionID });
  expect(await wordOf(id)).toBe('draft');
});

test('options alone are published with the published graph, and a draft stays a draft', async () => {
  const { id } = await aSaved();
  const draft = await api().patch(`T/workflows/${id}`, { ...saying('draft'), draft: true });
  const options = { workflowRunTimeout: '5 minutes' };

  const { body } = await api().patch(`T/workflows/${id}`, { workflowOptions: options }, { 'if-match': '"2"' });

  const { workflowNodes } = draft.body.workflow;
  expect(body.workflow).toMatchObject({ versionNumber: 4, workflowNodes, workflowOptions: options });
  const [, live] = await versionsOf(id);
  expect(live).toMatchObject({ versionNumber: 3, isPublished: true, versionID: body.workflow.publishedVersionID });
  expect(await wordOf(id)).toBe('one');
  const { version } = (await api().get(`T/workflows/${id}/versions/${live.versionID}`)).body;
  expect(version.workflowOptions).toMatchObject(options);

  const again = await api().patch(`T/workflows/${id}`, { workflowOptions: options });
  expect(again.body.workflow).toMatchObject({ versionNumber: 4, publishedVersionID: live.versionID });
  const published = await api().patch(`T/workflows/${id}`, { workflowNodes });
  expect(published.body.workflow.publishedVersionID).toBe(body.workflow.versionID);
  expect(await wordOf(id, 4)).toBe('draft');

  const unpublished = await aSaved('one', { draft: true });
  const saved = await api().patch(`T/workflows/${unpublished.id}`, { workflowOptions: options });
  expect(saved.body.workflow).toMatchObject({ versionNumber: 2, publishedVersionID: null });
});

test('a workflow with drafts only answers 409 and names the call that publishes one', async () => {
  const { id, versionID } = await aSaved('one', { draft: true });
  const parent = await aWorkflow(cluster, {
    tenant,
    ...chain({ child: { type: 'subWorkflow', childWorkflowID: id } }),
  });

  const refused = await api().post(`T/workflows/${id}/execute`);
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT', details: { versionID } } } });
  const asParent = await api().post(`T/workflows/${parent.id}/execute?wait=30`);
  expect(asParent.body.error.message).toContain('has drafts only');
  expect((await api().get(`T/workflows/${id}`)).body.workflow.publishedVersionID).toBeNull();

  const [, path = ''] = /POST (\S+\/publish)/.exec(refused.body.error.message) ?? [];
  expect(await api().post(path)).toMatchObject({ status: 200 });
  expect(await wordOf(id)).toBe('one');
});

test('a draft need not be complete; it is checked when it is published or executed', async () => {
  const { nodes, edges } = saying('one');
  const broken = { workflowNodes: [...nodes, { id: 'x', type: 'javascript', data: {} }], workflowEdges: edges };
  const { id } = await aSaved();

  const saved = await api().patch(`T/workflows/${id}`, { ...broken, draft: true });
  expect(saved).toMatchObject({ status: 200, body: { workflow: broken } });
  const { versionID } = saved.body.workflow;
  for (const answer of [
    await api().post(`T/workflows/${id}/versions/${versionID}/publish`),
    await api().post(`T/workflows/${id}/versions/${versionID}/restore`),
    await api().post(`T/workflows/${id}/execute?version=2`),
    await api().patch(`T/workflows/${id}`, broken),
    await api().patch(`T/workflows/${id}`, { workflowEdges: edges }),
  ]) {
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(answer.body.error.message).toContain('workflowNodes.2.data.code');
  }
  expect(await api().post(`T/workflows/${id}/clone`)).toMatchObject({
    status: 201,
    body: { workflow: { ...broken, publishedVersionID: null } },
  });
});

test('versions are compared by nodes, edges and the paths that changed', async () => {
  const { id } = await aSaved();
  const { nodes, edges } = chain({ step: { type: 'delay', delayMs: 5 } }, { word: 'two' });
  const workflowOptions = { workflowRunTimeout: 60 };
  const { body } = await api().patch(`T/workflows/${id}`, { nodes, edges, workflowOptions });

  const { diff } = (await api().get(`T/workflows/${id}/versions/${body.workflow.versionID}/diff`)).body;
  expect(diff).toMatchObject({ before: { versionNumber: 1 }, after: { versionNumber: 2 } });
  expect(diff.nodes).toEqual({
    added: [nodes[1]],
    removed: [],
    changed: [{ id: 'end', paths: [['data', 'outputParameters', 0, 'sourceVariable']] }],
  });
  expect(diff.edges.added.length + diff.edges.changed.length).toBeGreaterThan(0);
  expect(diff.options).toEqual([['workflowRunTimeout']]);

  const [, first] = await versionsOf(id);
  const back = await api().get(`T/workflows/${id}/versions/${first.versionID}/diff?against=2`);
  expect(back.body.diff.nodes).toMatchObject({ added: [], removed: [nodes[1]] });
  const alone = await api().get(`T/workflows/${id}/versions/${first.versionID}/diff`);
  expect(alone.body.diff).toMatchObject({ before: null, nodes: { added: [{ id: 'start' }, { id: 'end' }] } });
  const unknown = await api().get(`T/workflows/${id}/versions/${first.versionID}/diff?against=9`);
  expect(unknown.status).toBe(404);
});

test('an earlier version is labelled, published again, or restored as the latest', async () => {
  const { id, versionID } = await aSaved('one');
  await api().patch(`T/workflows/${id}`, saying('two'));
  const path = `T/workflows/${id}/versions/${versionID}`;

  expect((await api().patch(path, { label: 'Good' })).body.version).toMatchObject({ label: 'Good', versionNumber: 1 });
  expect((await api().get(path)).body.version).toMatchObject({
    label: 'Good',
    workflowNodes: saying('one').nodes,
    workflowEdges: saying('one').edges,
  });
  expect((await api().post(`${path}/publish`)).body.workflow).toMatchObject({
    versionNumber: 2,
    publishedVersionID: versionID,
  });
  expect(await wordOf(id)).toBe('one');

  await api().patch(`T/workflows/${id}`, { ...saying('three'), draft: true });
  const draft = await api().post(`${path}/restore`, { draft: true });
  expect(draft.body.workflow).toMatchObject({ versionNumber: 4, publishedVersionID: versionID });
  const again = await api().post(`${path}/restore`);
  expect(again.body.workflow).toMatchObject({ versionNumber: 4, publishedVersionID: again.body.workflow.versionID });
  expect(await wordOf(id)).toBe('one');
  expect((await api().patch(path, { label: null })).body.version.label).toBeNull();
});

test('a run names its version, whose graph can be read after a change, also that of a test', async () => {
  const { id, versionID } = await aSaved('one');
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  await api().patch(`T/workflows/${id}`, saying('two'));
  const tested = (await api().post('T/workflows/test', { ...saying('test'), workflowID: id })).body;

  const run = (await api().get(`T/workflows/instances/${instanceID}`)).body;
  expect(run).toMatchObject({ versionID, versionNumber: 1 });
  const version = (await api().get(`T/workflows/${id}/versions/${run.versionID}`)).body.version;
  expect(version.workflowNodes).toEqual(saying('one').nodes);

  const test = (await api().get(`T/workflows/instances/${tested.instanceID}`)).body;
  expect(test).toMatchObject({ versionNumber: null });
  const graph = await api().get(`T/workflows/${id}/versions/${test.versionID}`);
  expect(graph.body.version.workflowNodes).toEqual(saying('test').nodes);
  const other = await aSaved();
  for (const strange of [test.versionID, versionID])
    expect(await api().get(`T/workflows/${other.id}/versions/${strange}`)).toMatchObject({ status: 404 });
  expect(await wordOf(other.id, versionID)).toBe('NOT_FOUND');
});

test('publishing and restoring need the rights on what the nodes name', async () => {
  const query = await aDataQuery(cluster, { tenant });
  const { nodes, edges } = chain({ read: { type: 'dataQuery', dataQueryID: query.id } });
  const { id, versionID } = await aSaved('one', { nodes, edges, draft: true });
  const member = await aMember(cluster, { tenant, can: ['workflow.read', 'workflow.update'] });
  const theirs = cluster.as(member).in(tenant);

  const answers = [
    await theirs.post(`T/workflows/${id}/versions/${versionID}/publish`),
    await theirs.post(`T/workflows/${id}/versions/${versionID}/restore`),
    await theirs.patch(`T/workflows/${id}`, { workflowEdges: edges }),
  ];
  for (const answer of answers) expect(answer).toMatchObject({ status: 403 });
  expect((await api().get(`T/workflows/${id}`)).body.workflow.publishedVersionID).toBeNull();
});

test('a version is never changed, and one that an older process saves is numbered and published', async () => {
  const { pool } = cluster.context;
  const { id, versionID } = await aSaved('one');

  const change = pool.query(`update workflow_version set nodes = '[]' where id = $1`, [versionID]);
  await expect(change).rejects.toThrow('never changed');

  const next = newID();
  await pool.query(
    `insert into workflow_version (id, tenant_id, workflow_id, nodes, edges)
     select $2, tenant_id, workflow_id, nodes, edges from workflow_version where id = $1`,
    [versionID, next],
  );
  await pool.query('update workflow set version_id = $2 where id = $1', [id, next]);
  const [latest] = await versionsOf(id);
  expect(latest).toMatchObject({ versionID: next, versionNumber: 2, isPublished: true, creatorID: null });
  expect(latest.publishedAt).not.toBeNull();
});

test('a version that is executed by name is kept for the run', async () => {
  const { pool } = cluster.context;
  const { id, versionID } = await aSaved('one');
  await api().patch(`T/workflows/${id}`, saying('two'));
  await pool.query(`update workflow_version set superseded_at = now() - interval '1 year' where id = $1`, [versionID]);

  expect(await wordOf(id, 1)).toBe('one');

  const { rows } = await pool.query(
    `select superseded_at > now() - interval '1 minute' as "isRenewed" from workflow_version where id = $1`,
    [versionID],
  );
  expect(rows).toEqual([{ isRenewed: true }]);
});

test('the retention of a draft counts from the time when it was saved', async () => {
  const { id } = await aSaved('one', { draft: true });
  await api().patch(`T/workflows/${id}`, saying('two'));

  const { rows } = await cluster.context.pool.query(
    'select number, superseded_at is not null as "isSuperseded" from workflow_version where workflow_id = $1 order by number',
    [id],
  );
  expect(rows).toEqual([
    { number: 1, isSuperseded: true },
    { number: 2, isSuperseded: false },
  ]);
});
