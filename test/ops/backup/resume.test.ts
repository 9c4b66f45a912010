/** A resumption ends work that was open when the backup was made. No backup is made for it: the mark says enough. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { openDeployment } from '#ops/backup/open-deployment.ts';
import { onlyPolicy, type ResumePolicy, readOpenWork, resumeDeployment } from '#ops/backup/resume.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aCronJob } from '../../support/cron.ts';
import { noops } from '../../support/graphs.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let versionID: string;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  cluster = resources.use(await startCluster({ workers: false }));
  versionID = await cluster.saveVersion(noops(1));
});
afterAll(() => resources.disposeAsync());
beforeEach(async () => {
  await cluster.pool.query(
    'truncate workflow_instance, run_wait, run_delivery, deployment_restore, ai_tool_call, ai_session, run_batch, cron_job, run_failure cascade',
  );
});

interface OpenRun {
  status?: string;
  parentID?: string;
  /** Whom it notifies of its end. */
  webhook?: object;
}

async function aRun({ status = 'WAITING', parentID, webhook }: OpenRun = {}): Promise<string> {
  const id = newID();
  await cluster.pool.query(
    `insert into workflow_instance (id, tenant_id, workflow_id, version_id, status, caller, parent_id, completion_webhook, deadline_at)
     values ($1, $2, $2, $3, $4, '{}', $5, $6, 'infinity')`,
    [id, cluster.tenantID, versionID, status, parentID ?? null, webhook ? JSON.stringify(webhook) : null],
  );
  return id;
}

async function waits(id: string, kind: string, ref: string | null = null): Promise<void> {
  await cluster.pool.query(`insert into run_wait (instance_id, node_id, kind, ref) values ($1, 'n', $2, $3)`, [
    id,
    kind,
    ref,
  ]);
}

async function aCall(): Promise<string> {
  const id = newID();
  const caller = JSON.stringify({ type: 'user', id: newID(), origin: 'workflow' });
  await cluster.pool.query(
    `insert into ai_tool_call (id, tenant_id, turn_id, number, tool, input, input_digest, caller) values ($1, $2, $1, 0, 'create_variable', '{}', '', $3)`,
    [id, cluster.tenantID, caller],
  );
  return id;
}

/** As after a restore of a backup of this moment. */
async function hold(): Promise<void> {
  await cluster.pool.query(
    `insert into deployment_restore (id, backup_id, snapshot_at, phase) values ($1, $1, now(), 'loaded')`,
    [newID()],
  );
}

async function resume(policy: ResumePolicy) {
  await using opened = await openDeployment(cluster.env);
  return await resumeDeployment(opened, policy);
}

test('with --runs waiting, a run goes on whose sub-workflow waits for a person, and one whose sub-workflow works is cancelled', async () => {
  const [asking, working] = [await aRun(), await aRun()];
  const asked = await aRun({ parentID: asking });
  const worked = await aRun({ parentID: working, status: 'RUNNING' });
  await waits(asking, 'child', asked);
  await waits(asked, 'input');
  await waits(working, 'child', worked);
  await hold();
  expect(await readOpenWork(cluster.pool)).toMatchObject({ atWork: 1, waiting: 1 });

  expect(await resume('waiting')).toEqual({ cancelled: 1 });

  const { rows } = await cluster.pool.query<{ id: string }>(
    'select id from workflow_instance where completed_at is null',
  );
  expect(rows.map(({ id }) => id).sort()).toEqual([asking, asked].sort());
});

test('no receiver is notified of runs that the resumption cancels', async () => {
  await aRun({ status: 'RUNNING', webhook: { url: 'http://127.0.0.1:1', secret: '', on: ['CANCELLED'] } });
  await hold();

  await resume('cancel');

  const { rows } = await cluster.pool.query('select status, next_at from run_delivery');
  expect(rows).toEqual([{ status: 'FAILED', next_at: null }]);
});

test('calls of tools wait for the resumption, count as open work, and end with --runs cancel', async () => {
  const polls = vi.spyOn(cluster.context.pool, 'query');
  const pollsWhileDeferred = async () => {
    polls.mockClear();
    await eventually(() => {
      const deferred = polls.mock.calls.filter(
        ([text]) => typeof text === 'string' && text.includes('deployment_restore'),
      );
      expect(deferred.length).toBeGreaterThan(1);
    });
  };
  await hold();
  // A poll that had begun before is over.
  await pollsWhileDeferred();
  const call = await aCall();
  const readCall = async () =>
    (await cluster.pool.query('select status, attempts from ai_tool_call where id = $1', [call])).rows[0];
  await pollsWhileDeferred();
  expect(await readCall()).toEqual({ status: 'ready', attempts: 0 });
  await cluster.pool.query('update deployment_restore set snapshot_at = now()');
  expect(await readOpenWork(cluster.pool)).toMatchObject({ others: 1 });

  await resume('cancel');

  expect(await readCall()).toEqual({ status: 'failed', attempts: 0 });
});

/** A row of each kind that would go on by itself. */
const openRows: Record<string, (ids: Record<'id' | 'tenant' | 'cronJob', string>) => string> = {
  run_batch: ({ id, tenant }) =>
    `insert into run_batch (id, tenant_id, kind, creator_id, caller, asked) values ('${id}', '${tenant}', 'execute', '${tenant}', '{}', '{}')`,
  cron_backfill: ({
    id,
    tenant,
    cronJob,
  }) => `insert into cron_backfill (id, tenant_id, cron_job_id, from_at, to_at, creator_id)
    values ('${id}', '${tenant}', '${cronJob}', now(), now(), '${tenant}')`,
  cron_tick: ({ id, tenant, cronJob }) =>
    `insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome)
    values ('${id}', '${tenant}', '${cronJob}', now(), 'SCHEDULED', 'SCHEDULED', 'queued')`,
  run_failure: ({ id, tenant }) =>
    `insert into run_failure (instance_id, tenant_id, handler_id) values ('${id}', '${tenant}', '${tenant}')`,
  ai_answer: ({ id, tenant }) =>
    `insert into ai_session (id, tenant_id, owner_id, chat_id) values ('${id}', '${tenant}', '${tenant}', 'a');
    insert into ai_answer (id, session_id, tenant_id, status, is_resumable, alive_until) values ('${id}', '${id}', '${tenant}', 'streaming', true, 'infinity')`,
};

test.each(Object.keys(openRows))('an open %s is left to a person, and ends with --runs cancel', async (table) => {
  const { pool, tenantID: tenant } = cluster;
  const cronJob = await aCronJob(cluster, { workflowID: versionID });
  await pool.query(openRows[table]?.({ id: newID(), tenant, cronJob }) ?? '');
  await hold();

  await expect(onlyPolicy(pool)).rejects.toThrow('1 batches, backfills');
  await resume('cancel');

  await hold();
  expect(await onlyPolicy(pool)).toBe('continue');
});
