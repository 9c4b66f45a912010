/** Clients of real API processes, of which one dies: what they were told before and after is whole. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aTenant, aWidget, aWorkflow, chain, type TestTenant } from '../support/factories.ts';
import { startGated } from '../support/held-server.ts';
import { type Spawned, spawnNode } from '../support/process.ts';
import { eventually } from '../support/settle.ts';
import { openSocket, type SocketMessage } from '../support/socket.ts';

const resources = new AsyncDisposableStack();
let cluster: Cluster;
let tenant: TestTenant;
let token: string;
/** The API process that dies. The other one is this process. */
let mortal: { url: string; port: number; process: Spawned };

beforeAll(async () => {
  cluster = resources.use(await startCluster({ workers: true }));
  tenant = await aTenant(cluster);
  token = await cluster.tokenFor(tenant.creator);
  const port = await freePort();
  mortal = { url: `http://127.0.0.1:${port}`, port, process: startAPI(port) };
});
afterAll(() => resources.disposeAsync());

function startAPI(port: number): Spawned {
  return resources.use(spawnNode(['api/main.ts'], { ...cluster.env, PORT: String(port), METRICS_PORT: '0' }));
}

const urlOf = (index: number) => (index === 0 ? mortal.url : cluster.baseURL);

interface Showing {
  widgetID: string;
  /** The process that it connects to first. */
  index: number;
  /** Closes its sockets. */
  open: AsyncDisposableStack;
}

/** A client that connects to the other process when its own has gone, and goes on from the last whole change it has. */
async function aClient(instanceID: string, { widgetID, index, open }: Showing) {
  const told: SocketMessage[] = [];
  const state = { isOver: false, moves: 0 };

  async function connect(at: number): Promise<void> {
    const socket = await openSocket(urlOf(at), token);
    open.use(socket);
    const change: SocketMessage[] = [];
    socket.raw.onAny((event: string, payload) => {
      if (!(payload.seq > 0) || event === 'widget_workflow_connected') return;
      change.push({ event, payload });
      if (payload.more) return;
      told.push(...change.splice(0));
      state.isOver ||= event === 'widget_workflow_status' && payload.status === 'COMPLETED';
    });
    socket.raw.on('disconnect', (reason) => {
      if (reason === 'io client disconnect') return;
      state.moves += 1;
      void connect(1);
    });
    const lastSeq = told.at(-1)?.payload.seq ?? 0;
    await socket.ask('widget_workflow_connect', { widgetID, mode: 'subscribe', instanceID, lastSeq });
  }

  await connect(index);
  return { told, state };
}

test('40 clients of 8 runs lose nothing and hear nothing twice when one of two API processes is killed', async () => {
  // For another try.
  if (mortal.process.child.signalCode !== null) mortal.process = startAPI(mortal.port);
  await eventually(async () => expect((await fetch(`${mortal.url}/ready`)).status).toBe(200));
  // The runs stay in their midst until all clients are there.
  await using service = await startGated();
  const waits = (name: string) =>
    Object.fromEntries(Array.from({ length: 4 }, (_, n) => [`${name}${n}`, { type: 'delay', delayMs: 30 }]));
  const nodes = { ...waits('before'), call: { type: 'http', url: service.origin }, ...waits('after') };
  const workflow = await aWorkflow(cluster, { tenant, ...chain(nodes, { done: true }) });
  const { id: widgetID } = await aWidget(cluster, { tenant });
  await using open = new AsyncDisposableStack();
  const execute = () => cluster.as(tenant.creator).in(tenant).post(`T/workflows/${workflow.id}/execute`);
  const runs = await Promise.all(Array.from({ length: 8 }, async () => String((await execute()).body.instanceID)));
  const clients = await Promise.all(
    Array.from({ length: 40 }, (_, n) => aClient(runs[n % runs.length] ?? '', { widgetID, index: n % 2, open })),
  );
  await eventually(() => expect(clients.every(({ told }) => told.length > 3)).toBe(true));
  expect(clients.some(({ state }) => state.isOver)).toBe(false);

  const death = mortal.process.kill('SIGKILL');
  service.open();
  await death;
  await eventually(() => expect(clients.every(({ state }) => state.isOver)).toBe(true));

  expect(clients.filter(({ state }) => state.moves === 1)).toHaveLength(20);
  for (const [at, instanceID] of runs.entries()) {
    const late = await aClient(instanceID, { widgetID, index: 1, open });
    await eventually(() => expect(late.state.isOver).toBe(true));
    expect(new Set(late.told.map(({ payload }) => payload.seq)).size).toBe(late.told.at(-1)?.payload.seq);
    for (const { told } of clients.filter((_, n) => n % runs.length === at)) expect(told).toEqual(late.told);
  }
});
