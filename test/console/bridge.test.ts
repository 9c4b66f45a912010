import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';
import { expect, test } from 'vitest';
import { type BridgeState, watchBridge } from '#ops/console/client/bridge.ts';

test('a run of a widget takes none of the messages that an earlier one of the same widget still gets', async () => {
  const http = createServer();
  const server = new Server(http);
  const starts: ((instanceID: string) => void)[] = [];
  server.on('connection', (socket) => {
    const send = (event: string, instanceID: string, more: object) =>
      socket.emit(event, { widgetID: 'w', instanceID, error: null, ...more });
    socket.on('widget_workflow_connect', (_sent, acknowledge) => {
      starts.push((instanceID) => {
        // The earlier run has got further than this one will.
        send('widget_context_update', 'earlier', {
          seq: 12,
          update: { nodeID: 'n', status: 'COMPLETED' },
        });
        send('widget_workflow_status', 'earlier', {
          seq: 13,
          status: 'RUNNING',
        });
        acknowledge({ success: true, instanceID });
        send('widget_workflow_status', 'earlier', {
          seq: 14,
          status: 'FAILED',
        });
        send('widget_workflow_status', instanceID, {
          seq: 3,
          status: 'COMPLETED',
          output: { ok: true },
        });
      });
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const socket = io(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, { forceNew: true });
  const states: BridgeState[] = [];
  const leave = watchBridge(
    { tenantID: 't', widgetID: 'w', start: { workflowID: 'x' }, inputs: {} },
    (state) => states.push(state),
    { socket: socket as never, readOutput: async () => undefined },
  );
  await expect.poll(() => starts.length).toBe(1);
  starts[0]?.('own');
  await expect.poll(() => states.at(-1)?.status).toBe('COMPLETED');
  expect(states.map(({ instanceID, status, steps }) => [instanceID, status, steps.length])).toEqual([
    ['', 'PENDING', 0],
    ['own', 'PENDING', 0],
    ['own', 'COMPLETED', 0],
  ]);
  leave();
  socket.disconnect();
  await server.close();
});
