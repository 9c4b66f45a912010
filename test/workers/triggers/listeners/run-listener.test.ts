import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { newID } from '#shared/core/ids.ts';
import { openOutbound } from '#test/support/connector.ts';
import { testLogger } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';
import { createCapacity } from '#workers/triggers/listeners/owner/capacity.ts';
import type { Report } from '#workers/triggers/listeners/owner/leases.ts';
import { createRecording } from '#workers/triggers/listeners/owner/recording.ts';
import { type RunnerNeeds, runListener } from '#workers/triggers/listeners/owner/run-listener.ts';
import { websocketSource } from '#workers/triggers/listeners/sources/websocket.ts';

let server: WebSocketServer;
/** Behaviour of the server for each connection. */
let greet: (socket: WebSocket) => void;
// For each test, so that a connection that is still on its way from the one before is not counted.
beforeEach(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (socket) => greet(socket));
  await once(server, 'listening');
});
afterEach(() => {
  for (const client of server.clients) client.terminate();
  server.close();
});

let reports: Report[];
beforeEach(() => {
  reports = [];
});

function run({ provenMs }: Pick<RunnerNeeds, 'provenMs'> = {}) {
  const quota = { add: async () => undefined, addMany: async () => ({}) } as never;
  const recorder = { record: async ({ id }: { id: string }) => ({ eventID: id, duplicateOf: null }) };
  const own = { recorder, capacity: createCapacity(), events: quota, bytes: quota, untilOwned: async () => undefined };
  const needs: RunnerNeeds = {
    // Only the gate: the source needs no more of the worker.
    services: { outbound: openOutbound } as never,
    logger: testLogger,
    connecting: createSemaphore({ permits: 1 }),
    recordingFor: (of) => createRecording(own, of),
    report: (report) => void reports.push(report),
    firstBackoffMs: 0.01,
    ...(provenMs && { provenMs }),
  };
  const { port } = server.address() as AddressInfo;
  const listener = {
    ...{ id: newID(), tenantID: newID(), type: 'websocket', datasourceType: 'websocket', datasourceID: newID() },
    options: { url: `ws://127.0.0.1:${port}`, headers: [], sslVerify: true },
    config: { orderBy: '', parseAsJSON: true },
  };
  // The runner reads these fields of a listener.
  const runner = runListener({ listener: listener as never, source: websocketSource as never, cursor: null }, needs);
  return { [Symbol.asyncDispose]: () => runner.stop() };
}

const failures = () => reports.filter(({ state }) => state === 'reconnecting' || state === 'error');

test.each([
  ['at once', (socket: WebSocket) => socket.close()],
  ['after a greeting', (socket: WebSocket) => socket.send('Too many connections', () => socket.close())],
])(
  'connections that end %s are failures in a row, although each was made, until the status says so',
  async (_when, end) => {
    greet = end;
    await using _ = run();
    await eventually(() => expect(failures().length).toBeGreaterThan(12));

    expect(reports.some(({ state }) => state === 'running')).toBe(true);
    expect(failures().map(({ retryCount }) => retryCount)).toEqual(failures().map((_one, n) => n + 1));
    expect(failures().map(({ state }) => state)).toEqual(
      failures().map((_one, n) => (n < 9 ? 'reconnecting' : 'error')),
    );
    expect(failures()[0]?.lastError).not.toBeNull();
  },
);

test.each([
  ['for some time and received an event', { silent: 1_000_000, withEvent: 20 }, true],
  ['for a long time without one', { silent: 500, withEvent: 1 }, false],
])('a connection that has lived %s works, and the next failure is the first again', async (_how, provenMs, sends) => {
  let connections = 0;
  greet = (socket) => {
    connections += 1;
    if (connections % 4 !== 0) socket.close();
    else if (sends) socket.send('an event');
  };
  await using _ = run({ provenMs });
  for (const round of [1, 2]) {
    // Its first report says so as well.
    await eventually(() => {
      expect([connections, reports.at(-1)]).toMatchObject([4 * round, { state: 'running', retryCount: 0 }]);
    });
    for (const client of server.clients) client.terminate();
    await eventually(() => expect(failures().length).toBeGreaterThan(4 * round - 1));
  }

  expect(
    failures()
      .slice(0, 8)
      .map(({ retryCount }) => retryCount),
  ).toEqual([1, 2, 3, 1, 2, 3, 4, 1]);
});
