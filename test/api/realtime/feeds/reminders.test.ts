import { afterAll, beforeAll, expect, test } from 'vitest';
import { tokenOf } from '#shared/runs/form-links.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow } from '../../../support/factories.ts';
import { graph } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';
import type { TestSocket } from '../../../support/socket.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
});
afterAll(() => cluster[Symbol.asyncDispose]());

test('a reminder reaches the sockets of those who may answer, and no others, and is in the timeline', async () => {
  const [tenant, elsewhere] = [await aTenant(cluster), await aTenant(cluster)];
  const [named, other, reader] = [
    await aMember(cluster, { tenant, can: ['workflow.execute', 'workflow.read'] }),
    await aMember(cluster, { tenant, can: ['workflow.execute', 'workflow.read'] }),
    await aMember(cluster, { tenant, can: ['workflow.read'] }),
  ];
  const ask = { type: 'approval', title: 'Pay {{ctx.input.sum}}?', reminders: [{ minutes: 0.02 }] };
  const shape = (approvers: object) =>
    graph({ start: { type: 'start' }, ask: { ...ask, ...approvers }, end: { type: 'end' } }, [
      'start>ask',
      'ask:approved>end',
    ]);
  const [open, closed] = [
    await aWorkflow(cluster, { tenant, ...shape({}) }),
    await aWorkflow(cluster, { tenant, ...shape({ approvers: [named.email], answerByLink: true }) }),
  ];
  await using stack = new AsyncDisposableStack();
  const join = async (user: typeof named, of = tenant) => {
    const socket = stack.use(await cluster.socket(user));
    expect(await socket.ask('join_room', `tenant:${of.id}`)).toMatchObject({ success: true });
    return socket;
  };
  const sockets = {
    named: await join(named),
    other: await join(other),
    reader: await join(reader),
    stranger: await join(elsewhere.creator, elsewhere),
  };
  const api = cluster.as(tenant.creator).in(tenant);
  const execute = async (id: string) =>
    (await api.post(`T/workflows/${id}/execute`, { args: { sum: 5 } })).body.instanceID;
  const runs = { open: await execute(open.id), closed: await execute(closed.id) };

  const reminded = ({ messages }: TestSocket) =>
    messages
      .filter(({ event }) => event === 'workflow_data_collection_reminder')
      .map(({ payload }) => payload.instanceID);
  await eventually(() => expect(reminded(sockets.named).sort()).toEqual([runs.open, runs.closed].sort()));
  await eventually(() => expect(reminded(sockets.other)).toEqual([runs.open]));
  const message = sockets.other.messages.find(({ event }) => event === 'workflow_data_collection_reminder');
  expect(message?.payload).toEqual({
    instanceID: runs.open,
    nodeID: 'ask',
    iteration: 0,
    frame: [],
    collectionRequestID: expect.any(String),
    title: 'Pay 5?',
    answerURL: null,
    number: 1,
    of: 1,
  });
  const linked = sockets.named.messages.find(({ payload }) => payload.instanceID === runs.closed)?.payload;
  expect(cluster.context.runs.formLinks.read(tokenOf(String(linked?.answerURL)))).toEqual({
    tenantID: tenant.id,
    instanceID: runs.closed,
    nodeID: 'ask',
    path: '0',
  });
  const { body } = await api.get(`T/workflows/instances/${runs.open}`);
  const collectionRequestID = message?.payload.collectionRequestID;
  expect(body.timeline.flatMap(({ reminder }: { reminder?: object }) => reminder ?? [])).toEqual([
    { collectionRequestID, number: 1, of: 1 },
  ]);
  await eventually(async () =>
    expect((await api.get(`T/workflows/instances/${runs.open}`)).body.waiting).toEqual({
      reason: 'input',
      nodeID: 'ask',
      collectionRequestID,
      until: expect.any(String),
    }),
  );
  expect([reminded(sockets.reader), reminded(sockets.stranger)]).toEqual([[], []]);
});
