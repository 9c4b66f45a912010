import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant, type TestTenant } from '#test/support/factories.ts';
import { code, graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import type { SocketMessage } from '#test/support/socket.ts';

let cluster: Cluster;
let tenant: TestTenant;
let workflowID: string;

/** Twelve nodes in a row with pauses, so that a client can disconnect and reconnect during the run. */
const names = Array.from({ length: 6 }, (_, i) => [`wait${i}`, `work${i}`]).flat();
const long = graph(
  {
    start: { type: 'start' },
    ...Object.fromEntries(
      names.map((name) => [name, name.startsWith('wait') ? { type: 'delay', delayMs: 60 } : code(`return "${name}";`)]),
    ),
    end: { type: 'end', outputParameters: [{ name: 'last', sourceVariable: '{{ctx.scriptResult}}' }] },
  },
  [
    `start>${names[0]}`,
    ...names.slice(1).map((name, i) => `${names[i]}${names[i]?.startsWith('work') ? ':success' : ''}>${name}`),
    `${names.at(-1)}:success>end`,
  ],
);

beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2 });
  for (let n = 0; n < 2; n += 1) await cluster.startWorker();
  tenant = await aTenant(cluster);
  const { body } = await cluster
    .as(tenant.creator)
    .in(tenant)
    .post('T/workflows', { title: 'Long', ...long });
  workflowID = body.workflow.id;
});
afterAll(() => cluster[Symbol.asyncDispose]());

function on(index: number): { baseURL: string } {
  const api = cluster.apis[index];
  if (!api) throw new Error(`No API ${index}`);
  return { baseURL: api.baseURL };
}

async function execute(api: number): Promise<string> {
  const { body } = await cluster.as(tenant.creator, on(api)).in(tenant).post(`T/workflows/${workflowID}/execute`, {});
  return body.instanceID;
}

const seqsOf = (messages: SocketMessage[]) => messages.map(({ payload }) => payload.seq);
const isOver = (messages: SocketMessage[]) => messages.at(-1)?.event === 'workflow_status_update';

/** Every number from first to last, without duplicates or gaps. */
function expectWhole(messages: SocketMessage[], from = 1): void {
  expect(seqsOf(messages)).toEqual(messages.map((_, i) => from + i));
}

test('a client of one API sees a run started on the other, in order and without a gap', async () => {
  await using socket = await cluster.socket(tenant.creator, on(0));
  const instanceID = await execute(1);

  expect(await socket.ask('workflow_run_join', { instanceID })).toMatchObject({ success: true, instanceID });
  await eventually(() => expect(isOver(socket.messages)).toBe(true));

  expectWhole(socket.messages);
  expect(socket.messages.at(-1)?.payload).toMatchObject({ instanceID, status: 'COMPLETED', output: { last: 'work5' } });
  const updates = socket.messages
    .filter(({ payload }) => payload.status === 'SUCCESS')
    .map(({ payload }) => payload.nodeID);
  expect(updates).toEqual(['start', ...names, 'end']);
});

test('a client that disconnects during a run and reconnects to another API misses no event', async () => {
  const instanceID = await execute(0);
  const first = await cluster.socket(tenant.creator, on(1));
  await first.ask('workflow_run_join', { instanceID });
  await eventually(() => expect(first.messages.length).toBeGreaterThan(8));
  await first[Symbol.asyncDispose]();
  const lastSeq = seqsOf(first.messages).at(-1);
  await new Promise((resolve) => setTimeout(resolve, 150));

  await using second = await cluster.socket(tenant.creator, on(0));
  await second.ask('workflow_run_join', { runId: instanceID, lastSeq });
  await eventually(() => expect(isOver(second.messages)).toBe(true));

  expectWhole([...first.messages, ...second.messages]);
});

test('many watchers of many runs, on either API, each get all events of their own run', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => execute(i % 2)));
  const sockets = await Promise.all(ids.map((_, i) => cluster.socket(tenant.creator, on((i + 1) % 2))));

  await Promise.all(sockets.map((socket, i) => socket.ask('workflow_run_join', { instanceID: ids[i] })));
  await eventually(() => expect(sockets.every(({ messages }) => isOver(messages))).toBe(true));

  for (const [i, { messages }] of sockets.entries()) {
    expectWhole(messages);
    expect(new Set(messages.map(({ payload }) => payload.instanceID))).toEqual(new Set([ids[i]]));
  }
  for (const socket of sockets) await socket[Symbol.asyncDispose]();
});

test('a request can wait for a run that any worker executes', async () => {
  const answers = await Promise.all(
    [0, 1].map((api) =>
      cluster.as(tenant.creator, on(api)).in(tenant).post(`T/workflows/${workflowID}/execute?wait=30`, {}),
    ),
  );

  for (const { status, body } of answers) {
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'COMPLETED', output: { last: 'work5' } });
  }
});
