/** Clients of real API processes, of which one dies: what they were told before and after is whole. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { newID } from '#shared/core/ids.ts';
import { findChromium } from '../servers/chromium.ts';
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
/** The address of the page, which another server than the API serves. */
let ui: string;
const apis: { url: string; port: number; process: Spawned }[] = [];

beforeAll(async () => {
  cluster = resources.use(await startCluster({ workers: true }));
  tenant = await aTenant(cluster);
  token = await cluster.tokenFor(tenant.creator);
  const pages = createServer(async (request, response) => {
    const isScript = request.url?.endsWith('.js');
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? await readClient() : PAGE);
  });
  await once(pages.listen(0, '127.0.0.1'), 'listening');
  resources.defer(() => void pages.close().closeAllConnections());
  ui = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  for (const port of [await freePort(), await freePort()])
    apis.push({ url: `http://127.0.0.1:${port}`, port, process: startAPI(port) });
  await Promise.all(apis.map(({ url }) => isReady(url)));
});
afterAll(() => resources.disposeAsync());

function startAPI(port: number): Spawned {
  return resources.use(
    spawnNode(['api/main.ts'], { ...cluster.env, PORT: String(port), METRICS_PORT: '0', CORS_ORIGINS: ui }),
  );
}

const isReady = (url: string) => eventually(async () => expect((await fetch(`${url}/ready`)).status).toBe(200));
const urlOf = (index: number) => apis[index]?.url ?? '';

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
  await isReady(urlOf(0));
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

  const killed = apis[0] ?? expect.fail('there is no API');
  const death = killed.process.kill('SIGKILL');
  service.open();
  await death;
  // For another try.
  killed.process = startAPI(killed.port);
  await eventually(() => expect(clients.every(({ state }) => state.isOver)).toBe(true));

  expect(clients.filter(({ state }) => state.moves === 1)).toHaveLength(20);
  for (const [at, instanceID] of runs.entries()) {
    const late = await aClient(instanceID, { widgetID, index: 1, open });
    await eventually(() => expect(late.state.isOver).toBe(true));
    expect(new Set(late.told.map(({ payload }) => payload.seq)).size).toBe(late.told.at(-1)?.payload.seq);
    for (const { told } of clients.filter((_, n) => n % runs.length === at)) expect(told).toEqual(late.told);
  }
});

const found = await findChromium();
if (found.path === null) process.stderr.write(`The test of widgets in a browser is skipped: ${found.reason}\n`);

test.skipIf(found.path === null)(
  'a page in a browser answers a question of its workflow and shows the result, although its API restarts',
  async () => {
    const ask = { type: 'dataCollection', title: 'Who?', fields: [{ key: 'name', required: true }] };
    const graph = chain({ ask, wait: { type: 'delay', delayMs: 300 } }, { who: '{{ctx.collectedData.name}}' });
    const workflow = await aWorkflow(cluster, { tenant, ...graph });
    const widget = await aWidget(cluster, { tenant });
    await using browser = await chromium.launch({ executablePath: found.path ?? '', args: ['--no-sandbox'] });
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    const api = apis[1] ?? expect.fail('there is no API');
    const { url, port } = api;
    const { id: widgetID } = widget;
    const parameters = { url, token, tenantID: tenant.id, widgetID, workflowID: workflow.id, idempotencyKey: newID() };
    await page.goto(`${ui}/#${encodeURIComponent(JSON.stringify(parameters))}`);
    await page.getByText('Who?').waitFor();

    await api.process.kill('SIGKILL');
    await page.getByText('offline').waitFor();
    api.process = startAPI(port);
    await isReady(url);
    await page.getByText('online').waitFor();
    await page.getByRole('textbox').fill('Ada');
    await page.getByRole('button').click();
    await page.getByText('Hello, Ada').waitFor();

    const seqs = (await page.locator('#seqs').textContent())?.split(' ').map(Number) ?? [];
    expect(seqs).toEqual(seqs.map((_, at) => at + 1));
    const { rows } = await cluster.pool.query('select id from workflow_instance where workflow_id = $1', [workflow.id]);
    expect(rows).toHaveLength(1);
  },
);

/** The client as it is published for browsers. */
function readClient(): Promise<string> {
  const main = createRequire(import.meta.url).resolve('socket.io-client/package.json');
  return readFile(join(dirname(main), 'dist', 'socket.io.min.js'), 'utf8');
}

const PAGE = `<!doctype html>
<p id="state"></p><h1></h1><input><button>Send</button><p id="result"></p><p id="seqs"></p>
<script src="socket.io.min.js"></script>
<script>
const { url, token, tenantID, ...connect } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const show = (where, text) => { document.querySelector(where).textContent = text; };
const socket = io(url, { auth: { token }, transports: ['websocket'], reconnectionDelay: 100, reconnectionDelayMax: 200 });
let lastSeq = 0;
const seqs = [];
let question;
socket.on('connect', () => {
  show('#state', 'online');
  socket.emit('widget_workflow_connect', { ...connect, lastSeq });
});
socket.on('disconnect', () => show('#state', 'offline'));
socket.onAny((event, payload) => {
  if (event === 'widget_workflow_connected' || !(payload.seq > 0) || payload.more) return;
  lastSeq = payload.seq;
  seqs.push(lastSeq);
  show('#seqs', seqs.join(' '));
});
socket.on('workflow_data_collection_request', ({ collectionRequestID, collectionConfig }) => {
  question = collectionRequestID;
  show('h1', collectionConfig.title);
});
document.querySelector('button').onclick = () => fetch(url + '/api/v1/tenants/' + tenantID + '/workflows/data-collection/' + question + '/submit', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' },
  body: JSON.stringify({ submittedData: { name: document.querySelector('input').value } }),
});
socket.on('widget_workflow_status', ({ status, output }) => {
  if (status === 'COMPLETED') show('#result', 'Hello, ' + output.who);
});
</script>`;
