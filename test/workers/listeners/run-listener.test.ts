import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { newID } from '#shared/ids.ts';
import { createLane } from '#shared/lanes.ts';
import { openOutbound } from '#test/support/connector.ts';
import { testLogger } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';
import type { Report } from '#workers/listeners/owner/leases.ts';
import { createRecording } from '#workers/listeners/owner/recording.ts';
import { createRoom } from '#workers/listeners/owner/room.ts';
import { type RunnerNeeds, runListener } from '#workers/listeners/owner/run-listener.ts';
import { websocketSource } from '#workers/listeners/sources/websocket.ts';

let server: WebSocketServer;
/** What the server does with each connection. */
let greet: (socket: WebSocket) => void;
beforeAll(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (socket) => greet(socket));
  await once(server, 'listening');
});
afterAll(() => {
  for (const client of server.clients) client.terminate();
  server.close();
});

let reports: Report[];
beforeEach(() => {
  reports = [];
});

function run() {
  const quota = { add: async () => undefined, addMany: async () => ({}) } as never;
  const recorder = { record: async ({ id }: { id: string }) => ({ eventID: id, duplicateOf: null }) };
  const own = { recorder, room: createRoom(), events: quota, bytes: quota, untilOwned: async () => undefined };
  const needs: RunnerNeeds = {
    // Only the gate: the source needs no more of the worker.
    reach: { outbound: openOutbound } as never,
    logger: testLogger,
    connecting: createLane({ places: 1 }),
    recordingFor: (of) => createRecording(own, of),
    report: (report) => void reports.push(report),
    firstBackoffMs: 0.01,
  };
  const { port } = server.address() as AddressInfo;
  const listener = {
    ...{ id: newID(), tenantID: newID(), type: 'websocket', datasourceType: 'websocket', datasourceID: newID() },
    options: { url: `ws://127.0.0.1:${port}`, headers: [], sslVerify: true },
    config: { orderBy: '', parseAsJSON: true },
  };
  // Of a listener the runner reads these fields.
  const runner = runListener({ listener: listener as never, source: websocketSource as never, cursor: null }, needs);
  return { [Symbol.asyncDispose]: () => runner.stop() };
}

const failures = () => reports.filter(({ state }) => state === 'reconnecting' || state === 'error');

test('connections that end at once are failures in a row, although each was made, until the status says so', async () => {
  greet = (socket) => socket.close();
  await using _ = run();
  await eventually(() => expect(failures().length).toBeGreaterThan(12));

  expect(reports.some(({ state }) => state === 'running')).toBe(true);
  expect(failures().map(({ retryCount }) => retryCount)).toEqual(failures().map((_one, n) => n + 1));
  expect(failures().map(({ state }) => state)).toEqual(failures().map((_one, n) => (n < 9 ? 'reconnecting' : 'error')));
  expect(failures()[0]?.lastError).not.toBeNull();
});

test('an event shows that the connection works, and the next failure is the first again', async () => {
  let connections = 0;
  greet = (socket) => {
    connections += 1;
    if (connections % 4 === 0) socket.send('an event', () => socket.close());
    else socket.close();
  };
  await using _ = run();
  await eventually(() => expect(failures().length).toBeGreaterThan(8));

  expect(failures().map(({ retryCount }) => retryCount)).toEqual(
    failures().map((_one, n) => (n < 3 ? n + 1 : ((n - 3) % 4) + 1)),
  );
});
