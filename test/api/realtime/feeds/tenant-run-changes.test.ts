import { afterAll, beforeAll, expect, test } from 'vitest';
import { QUESTION_HEADS } from '#api/realtime/feeds/question-changes.ts';
import { RUN_HEADS } from '#api/realtime/feeds/tenant-run-changes.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { explaining } from '../../../support/explaining.ts';
import { aMember, aTenant, aWorkflow, type TestTenant, type TestUser } from '../../../support/factories.ts';
import { graph } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';
import type { TestSocket } from '../../../support/socket.ts';
import { addWaitingRuns } from '../../../support/waiting-runs.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const asks = (approvers: object) =>
  graph({ start: { type: 'start' }, ask: { type: 'approval', title: 'Pay?', ...approvers }, end: { type: 'end' } }, [
    'start>ask',
    'ask:approved>end',
  ]);

async function inRoom(user: TestUser, of = tenant): Promise<TestSocket> {
  const socket = await cluster.socket(user);
  expect(await socket.ask('join_room', `tenant:${of.id}`)).toMatchObject({ success: true });
  return socket;
}

const heardOf = ({ news }: TestSocket, name: string) =>
  news.filter(({ event }) => event === name).map(({ payload }) => payload);
const statusesOf = (socket: TestSocket, id: string) =>
  heardOf(socket, 'workflow_run_changed').flatMap((change) => (change.instanceID === id ? change.status : []));
/** Rows that a first try has left are told as well. */
const questionsOf = (socket: TestSocket, ...ids: string[]) =>
  heardOf(socket, 'workflow_data_collection_changed').flatMap(({ instanceID, status }) =>
    ids.includes(instanceID) ? [`${instanceID} ${status}`] : [],
  );

test('a run and its question are told to those who may read or answer it, and to no others', async () => {
  const [open, closed] = [
    await aWorkflow(cluster, { tenant, ...asks({}) }),
    await aWorkflow(cluster, { tenant, ...asks({ approvers: [tenant.creator.email] }) }),
  ];
  const rules = (action: string) => [{ object: `workflow:${open.id}`, action }];
  const [reader, starter, answerer, other] = [
    await aMember(cluster, { tenant, rules: rules('read') }),
    await aMember(cluster, { tenant, rules: rules('execute') }),
    await aMember(cluster, { tenant, can: ['workflow.execute'] }),
    await aMember(cluster, { tenant, can: ['dashboard.list', 'workflow.list'] }),
  ];
  const elsewhere = await aTenant(cluster);
  await using stack = new AsyncDisposableStack();
  const join = async (user: TestUser, of = tenant) => stack.use(await inRoom(user, of));
  const sockets = {
    creator: await join(tenant.creator),
    reader: await join(reader),
    starter: await join(starter),
    answerer: await join(answerer),
    other: await join(other),
    stranger: await join(elsewhere.creator, elsewhere),
  };
  const execute = async (user: TestUser, id: string) =>
    (await cluster.as(user).in(tenant).post(`T/workflows/${id}/execute`, {})).body.instanceID;
  const [first, second] = [await execute(starter, open.id), await execute(tenant.creator, closed.id)];
  await eventually(() => expect(statusesOf(sockets.creator, second).at(-1)).toBe('WAITING'));
  for (const socket of [sockets.creator, sockets.reader, sockets.starter])
    await eventually(() => expect(statusesOf(socket, first).at(-1)).toBe('WAITING'));
  await eventually(() =>
    expect(questionsOf(sockets.creator, first, second).sort()).toEqual(
      [`${first} PENDING`, `${second} PENDING`].sort(),
    ),
  );
  const { body } = await cluster.as(tenant.creator).in(tenant).get('T/workflows/data-collection?status=PENDING');
  const asked = body.requests.find((one: { instanceID: string }) => one.instanceID === first);
  const path = `T/workflows/data-collection/${asked.collectionRequestID}/submit`;
  const answered = await cluster
    .as(answerer)
    .in(tenant)
    .post(path, { submittedData: { decision: 'approve' } });
  expect(answered.status).toBe(200);

  await eventually(() => expect(statusesOf(sockets.reader, first).at(-1)).toBe('COMPLETED'));
  for (const socket of [sockets.starter, sockets.answerer])
    await eventually(() =>
      expect(questionsOf(socket, first, second)).toEqual([`${first} PENDING`, `${first} COMPLETED`]),
    );
  expect(heardOf(sockets.reader, 'workflow_run_changed').at(-1)).toEqual({
    ...{ tenantID: tenant.id, instanceID: first, workflowID: open.id, status: 'COMPLETED', errorCode: null },
    at: expect.any(String),
  });
  // All of a look is sent before the next one.
  for (const socket of [sockets.reader, sockets.starter]) expect(statusesOf(socket, second)).toEqual([]);
  for (const socket of [sockets.answerer, sockets.other]) expect(heardOf(socket, 'workflow_run_changed')).toEqual([]);
  for (const socket of [sockets.reader, sockets.other]) expect(questionsOf(socket, first, second)).toEqual([]);
  expect(sockets.stranger.news).toEqual([]);
});

test('many changes of a moment are told as one', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...asks({}) });
  await using socket = await inRoom(tenant.creator);
  const items = Array.from({ length: 120 }, () => ({}));
  const { status } = await cluster.as(tenant.creator).in(tenant).post(`T/workflows/${id}/execute/bulk`, { items });
  expect(status).toBeLessThan(300);
  await eventually(() =>
    expect(heardOf(socket, 'workflow_run_changed')).toContainEqual({
      ...{ tenantID: tenant.id, instanceID: null, workflowID: null, status: null, errorCode: null },
      at: expect.any(String),
    }),
  );
});

test('a look reads few rows of a tenant with many', async () => {
  const { id: tenantID } = await aTenant(cluster);
  await addWaitingRuns({ pool: cluster.pool, tenantID }, 6_000);
  const rowsRead = new Map<string, number>();
  const pool = explaining(cluster.pool, rowsRead);
  const { rows: runs } = await pool.query(RUN_HEADS, [[tenantID, newID()], []]);
  const { rows: questions } = await pool.query(QUESTION_HEADS, [[tenantID, newID()], []]);
  expect([runs.length > 100, questions.length]).toEqual([true, 150]);
  expect([...rowsRead.values()].filter((rows) => rows > 1_000)).toEqual([]);
});
