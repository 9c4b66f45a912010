import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aListener, aTenant, aWorkflow, chain, type TestTenant } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  // Nothing executes the runs of these workflows before the tests have seen how they are to begin.
  cluster = await startCluster({ workers: ['listener.events', 'cron.ticks'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

/** How the only run of the workflow with this origin is to begin. */
async function begins(workflowID: string, where = 'true') {
  const { rows } = await cluster.pool.query(
    `select class, head_start as "headStart", limits, concurrency_key as key,
       round(extract(epoch from deadline_at - created_at))::int as seconds
     from workflow_instance where workflow_id = $1 and ${where}`,
    [workflowID],
  );
  expect(rows).toHaveLength(1);
  return rows[0];
}

const options = {
  inputDefinitions: [{ key: 'customer', type: 'number' as const, default: 7 }],
  concurrency: { key: 'c-{{ctx.input.customer}}', limit: 2, onLimit: 'cancel-old' as const, scope: 'tenant' as const },
  maxRunsAtOnce: 3,
  rate: { limit: 10, per: 'hour' as const },
  queueTimeout: 90,
  workflowRunTimeout: 600,
  priority: 20,
};
const asSaved = {
  headStart: 20,
  key: ':c-7',
  limits: {
    runs: 3,
    rate: { limit: 10, seconds: 3_600 },
    key: { limit: 2, onLimit: 'cancel-old' },
  },
  // Until it begins.
  seconds: 90,
};

test('what a workflow says about the beginning of its runs holds for each way to start one', async () => {
  const { id } = await aWorkflow(cluster, { tenant, options });
  const endpointPath = newID();
  const listener = await aListener(cluster, {
    tenant,
    endpointPath,
    actions: [{ actionType: 'trigger_workflow', actionConfig: { workflowID: id, inputValues: { customer: 7 } } }],
  });
  const job = { cronJobTitle: 'Governed', cronJobSchedule: '0 0 29 2 *', cronJobType: 'workflow' };
  const { cronJob } = (await api().post('T/cronjobs', { ...job, cronJobConfig: { workflowID: id } })).body;

  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const bulk = await api().post(`T/workflows/${id}/execute/bulk`, { items: [{ args: { customer: '7' } }] });
  const again = await api().post(`T/workflows/instances/${instanceID}/rerun`);
  const delivered = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${tenant.id}/${endpointPath}`, {
    method: 'POST',
  });
  const ticked = await api().post(`T/cronjobs/${cronJob.cronJobID}/run`);
  expect([bulk, again, delivered, ticked].map(({ status }) => status)).toEqual([200, 200, 200, 200]);

  expect(await begins(id, `id = '${instanceID}'`)).toEqual({ class: 'interactive', ...asSaved });
  expect(await begins(id, 'batch_id is not null')).toEqual({ class: 'batch', ...asSaved });
  expect(await begins(id, `rerun_of = '${instanceID}'`)).toEqual({ class: 'interactive', ...asSaved });
  await eventually(async () => {
    expect(await begins(id, `caller ->> 'originID' = '${listener.id}'`)).toEqual({ class: 'webhook', ...asSaved });
    expect(await begins(id, 'cron_tick_id is not null')).toEqual({ class: 'cron', ...asSaved });
  });
});

test('a request may name the class and the head start of its run, and a workflow that of all', async () => {
  const { id } = await aWorkflow(cluster, { tenant, options: { ...options, class: 'cron' } });
  const other = { class: 'webhook', priority: 0 };

  const own = (await api().post(`T/workflows/${id}/execute`)).body.instanceID;
  const named = (await api().post(`T/workflows/${id}/execute`, other)).body.instanceID;
  await api().post(`T/workflows/${id}/execute/bulk`, { items: [other] });

  expect(await begins(id, `id = '${own}'`)).toMatchObject({ class: 'cron', headStart: 20 });
  expect(await begins(id, `id = '${named}'`)).toMatchObject({ class: 'webhook', headStart: 0, key: ':c-7' });
  expect(await begins(id, 'batch_id is not null')).toMatchObject({ class: 'webhook', headStart: 0, key: ':c-7' });
});

test('the run of a sub-workflow begins as its own workflow says', async () => {
  await using _worker = await cluster.startWorker({}, ['workflow.runs']);
  const child = await aWorkflow(cluster, { tenant, options: { maxRunsAtOnce: 3, class: 'batch', priority: 5 } });
  const parent = await aWorkflow(cluster, {
    tenant,
    ...chain({ call: { type: 'subWorkflow', childWorkflowID: child.id } }),
  });

  await api().post(`T/workflows/${parent.id}/execute`);

  await eventually(async () =>
    expect(await begins(child.id)).toMatchObject({ class: 'batch', headStart: 5, limits: { runs: 3 } }),
  );
});
