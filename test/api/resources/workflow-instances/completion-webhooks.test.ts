import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { WorkerContext } from '#workers/process/worker.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, chain, type TestTenant } from '../../../support/factories.ts';
import { type HTTPServer, startHTTP } from '../../../support/http-server.ts';
import { readSeries, scrape } from '../../../support/metrics.ts';
import { eventually } from '../../../support/settle.ts';

const KEY = Buffer.alloc(32, 9);
const SECRET = `whsec_${KEY.toString('base64')}`;

let cluster: Cluster;
let worker: WorkerContext;
let tenant: TestTenant;
let receiver: HTTPServer;
let answer = (response: ServerResponse): void => void response.writeHead(204).end();
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  cluster = resources.use(await startCluster({ workers: false, settings: { METRICS_PORT: '0' } }));
  worker = await cluster.startWorker();
  receiver = resources.use(await startHTTP((_request, response) => answer(response)));
  tenant = await aTenant(cluster);
  await admin().post('T/variables', { name: 'hook', value: SECRET, isSecret: true });
  await admin().post('T/variables', { name: 'plain', value: SECRET });
});
afterAll(() => resources.disposeAsync());

const admin = () => cluster.as(tenant.creator).in(tenant);

const optionsWith = (more: object = {}) => ({
  workflowOptions: { completionWebhook: { url: `${receiver.origin}/told`, secret: 'hook', ...more } },
});

async function save(more: object = {}) {
  const { status, body } = await admin().post('T/workflows', {
    title: 'Told',
    ...chain({}, { total: 7 }),
    ...optionsWith(more),
  });
  return { status, message: body.error?.message, workflowID: body.workflow?.id };
}

test('the end of a run is told, shown with its attempts, and told again when asked', async () => {
  const { workflowID } = await save();
  answer = (response) => void response.writeHead(410).end('gone');
  const { body: run } = await admin().post(`T/workflows/${workflowID}/execute?wait=30`, {});
  expect(run.status).toBe('COMPLETED');

  const path = `T/workflows/instances/${run.instanceID}/deliveries`;
  async function settled(status: string) {
    let shown: { deliveryID: string; attempts: object[] } = { deliveryID: '', attempts: [] };
    await eventually(async () => {
      const { body } = await admin().get(path);
      expect(body.deliveries).toMatchObject([{ status }]);
      [shown] = body.deliveries;
    });
    return shown;
  }
  const failed = await settled('FAILED');
  expect(failed).toMatchObject({ workflowID, attempts: [{ number: 1, status: 410, response: 'gone', error: null }] });

  // As after the last attempt: what is asked for begins to count anew.
  await cluster.pool.query('update run_delivery set tries_since_asked = 10 where id = $1', [failed.deliveryID]);
  answer = (response) => void response.writeHead(503).end();
  const again = await admin().post(`T/workflows/deliveries/${failed.deliveryID}/redeliver`, {});
  expect(again.body.delivery).toMatchObject({ status: 'PENDING' });
  await eventually(async () => expect((await settled('PENDING')).attempts).toMatchObject([{}, { status: 503 }]));
  answer = (response) => void response.writeHead(204).end();
  await cluster.pool.query('update run_delivery set next_at = now() where id = $1', [failed.deliveryID]);
  const delivery = await settled('DELIVERED');
  expect(delivery.attempts).toMatchObject([{ status: 410 }, { status: 503 }, { number: 3, status: 204 }]);

  const { body: list } = await admin().get(`T/workflows/${workflowID}/deliveries?status=DELIVERED&limit=5`);
  expect(list.deliveries).toEqual([delivery]);
  const { body: none } = await admin().get(`T/workflows/${workflowID}/deliveries?status=PENDING`);
  expect(none.deliveries).toEqual([]);

  const sent = receiver.seen.filter(({ body }) => body.includes(run.instanceID));
  expect(sent).toHaveLength(3);
  for (const { headers, body } of sent) {
    const signed = `${delivery.deliveryID}.${headers['webhook-timestamp']}.${body}`;
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', KEY).update(signed).digest('base64')}`);
  }
  expect(JSON.parse(sent[0]?.body ?? '{}').data).toMatchObject({ status: 'COMPLETED', output: { total: 7 } });
  const { text } = await scrape(worker.metricsPort);
  for (const outcome of ['given up', 'to be repeated', 'delivered'])
    expect(readSeries(text, `gantry_completion_attempts_total{outcome="${outcome}"}`), outcome).toBe(1);
});

test('the secret is shown nowhere', async () => {
  const { workflowID } = await save();
  const { body: run } = await admin().post(`T/workflows/${workflowID}/execute?wait=30`, {});
  const answers = await Promise.all([
    admin().get(`T/workflows/${workflowID}`),
    admin().get(`T/workflows/${workflowID}/deliveries`),
    admin().get(`T/workflows/instances/${run.instanceID}`),
  ]);

  for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(KEY.toString('base64'));
});

test('a webhook that could not be sent is refused by the path of the field', async () => {
  for (const [more, message] of [
    [{ secret: 'none' }, 'workflowOptions.completionWebhook.secret: there is no secret variable "none"'],
    [{ secret: 'plain' }, 'workflowOptions.completionWebhook.secret: there is no secret variable "plain"'],
    [
      { url: 'ftp://a.example' },
      'workflowOptions.completionWebhook.url: must be an address that begins with http:// or https://, without a user or a password',
    ],
    [{ on: [] }, expect.stringMatching(/^workflowOptions\.completionWebhook\.on: /)],
    [{ on: ['DONE'] }, expect.stringMatching(/^workflowOptions\.completionWebhook\.on\.0: /)],
  ] as const) {
    const saved = await save(more);
    expect(saved).toMatchObject({ status: 400, message });
  }
});

test('to save one, the author needs the right to use variables; to redeliver, the right to execute', async () => {
  const { workflowID } = await save();
  const author = await aMember(cluster, { tenant, can: ['workflow.update', 'workflow.read'] });
  const api = cluster.as(author).in(tenant);
  expect((await api.patch(`T/workflows/${workflowID}`, optionsWith())).status).toBe(403);

  const { rows } = await cluster.pool.query<{ id: string }>(
    `insert into run_delivery (instance_id, tenant_id, workflow_id, url, secret, status, next_at)
     values ($1, $2, $3, $4, 'hook', 'FAILED', null) returning id`,
    [newID(), tenant.id, workflowID, receiver.origin],
  );
  const path = `T/workflows/deliveries/${rows[0]?.id}/redeliver`;
  expect((await api.post(path, {})).status).toBe(403);
  const stranger = await aTenant(cluster);
  expect((await cluster.as(stranger.creator).in(stranger).post(path, {})).status).toBe(404);
});
