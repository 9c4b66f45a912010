/** A page in a browser, whose API is a process of its own. */
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
import { type Spawned, spawnNode } from '../support/process.ts';
import { eventually } from '../support/settle.ts';

const resources = new AsyncDisposableStack();
let cluster: Cluster;
let tenant: TestTenant;
let token: string;
/** The address of the page, which another server than the API serves. */
let ui: string;
let port: number;
let url: string;

beforeAll(async () => {
  cluster = resources.use(await startCluster());
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
  port = await freePort();
  url = `http://127.0.0.1:${port}`;
});
afterAll(() => resources.disposeAsync());

/** Returns when the process answers. */
async function startAPI(): Promise<Spawned> {
  const settings = { ...cluster.env, PORT: String(port), METRICS_PORT: '0', CORS_ORIGINS: ui };
  await using starting = new AsyncDisposableStack();
  const api = starting.use(spawnNode(['api/main.ts'], settings));
  await eventually(async () => expect((await fetch(`${url}/ready`)).status).toBe(200));
  starting.move();
  return api;
}

const found = await findChromium();
if (found.path === null) process.stderr.write(`The test of widgets in a browser is skipped: ${found.reason}\n`);

test.skipIf(found.path === null)(
  'a page in a browser answers a question of its workflow and shows the result, although its API restarts',
  async () => {
    await using api = await startAPI();
    const ask = { type: 'dataCollection', title: 'Who?', fields: [{ key: 'name', required: true }] };
    const graph = chain({ ask, wait: { type: 'delay', delayMs: 300 } }, { who: '{{ctx.collectedData.name}}' });
    const workflow = await aWorkflow(cluster, { tenant, ...graph });
    const widget = await aWidget(cluster, { tenant });
    await using browser = await chromium.launch({ executablePath: found.path ?? '', args: ['--no-sandbox'] });
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    const { id: widgetID } = widget;
    const parameters = { url, token, tenantID: tenant.id, widgetID, workflowID: workflow.id, idempotencyKey: newID() };
    await page.goto(`${ui}/#${encodeURIComponent(JSON.stringify(parameters))}`);
    await page.getByText('Who?').waitFor();

    await api.kill('SIGKILL');
    await page.getByText('offline').waitFor();
    await using _restarted = await startAPI();
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
