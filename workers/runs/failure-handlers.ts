import type { Rights } from '#shared/access/policy/rights.ts';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import { inTransaction, isRefusedStatement, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { storable } from '#shared/db/storable.ts';
import { insertRuns } from '#shared/runs/accept.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { createRunsInFlight, type RunsInFlight } from '#shared/tenants/counted-quotas.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { governRun } from '#shared/workflow/limits.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';
import { roundRobinTenants } from '../maintenance/round-robin.ts';

/** Failures of one tenant that are handled before the next tenant has its turn. */
const BATCH = 10;
const MAX_MESSAGE = 2_000;

interface Needs {
  pool: Pool;
  runs: Pick<Runs, 'dispatchQueued'>;
  rights: Rights;
}

/** Starts the workflows that handle failed runs. Every worker does so; they share the work by rows that they lock. */
export function createFailureHandlers({ logger, ...needs }: Needs & { logger: Logger }): AsyncDisposable {
  const handle = createFailureRounds({ ...needs, inFlight: createRunsInFlight(needs.pool) });
  const task = startPeriodicTask(
    {
      name: 'handle failed runs',
      everyMs: 1_000,
      async run() {
        if (await handle()) task.trigger();
      },
    },
    logger,
  );
  return task;
}

type FailureRounds = Needs & { inFlight: Pick<RunsInFlight, 'addMany'> };

interface Failed {
  id: string;
  tenant_id: string;
  workflow_id: string | null;
  caller: Caller;
  /** Error of the failed run, as it is stored. */
  error: JsonObject | null;
  input: JsonObject;
  handler_id: string;
  version_id: string | null;
  is_disabled: boolean | null;
  options: unknown;
}

/** Handles failures of the tenant whose turn it is. Answers whether there may be more to do at once. */
export function createFailureRounds({ pool, runs, rights, inFlight }: FailureRounds): () => Promise<boolean> {
  return roundRobinTenants<TenantRow>({
    pool,
    next: { name: 'next_failures', text: NEXT_TENANT },
    async work({ tenantID, count }) {
      // Failures for which the tenant has no capacity wait.
      const { granted } = await inFlight.addMany(tenantID, count);
      const handled = await inTransaction(pool, async (client) => {
        const { rows: locked } = await client.query<Failed>(LOCK, [tenantID, granted]);
        for (const failed of locked) await handleOne({ client, rights }, failed);
        return locked.length;
      });
      if (handled > 0) await runs.dispatchQueued().catch(() => undefined);
      return handled > 0;
    },
  });
}

interface TenantRow {
  tenantID: string;
  count: number;
}

/** Starts a handler. One transaction inserts its run and marks the failure as handled, so it is started once. */
async function handleOne({ client, rights }: { client: PoolClient; rights: Rights }, failed: Failed): Promise<void> {
  await client.query('savepoint one');
  try {
    const instanceID = await start({ client, rights }, failed);
    await client.query(HANDLED, [failed.id, instanceID, null]);
  } catch (error) {
    if (!(error instanceof AppError) && !isRefusedStatement(error)) throw error;
    await client.query('rollback to savepoint one');
    await client.query(HANDLED, [failed.id, null, storable(toAppError(error).message.slice(0, MAX_MESSAGE))]);
  }
}

async function start({ client, rights }: { client: PoolClient; rights: Rights }, failed: Failed): Promise<string> {
  const { tenant_id: tenantID, handler_id: workflowID, version_id: versionID } = failed;
  const access = { permission: 'workflow.execute', object: `workflow:${workflowID}` } as const;
  // One message for both reasons: a caller without the permission must not learn whether the workflow exists.
  if (failed.is_disabled === null || !(await rights.may({ tenantID, caller: failed.caller }, access)))
    throw new AppError('NOT_FOUND', 'There is no such workflow, or the caller of the failed run may not execute it');
  if (failed.is_disabled) throw new AppError('CONFLICT', 'The workflow is disabled');
  if (versionID === null) throw new AppError('CONFLICT', 'The workflow has drafts only: publish a version of it');

  const { onFailure: _none, ...options } = WorkflowOptions.parse(failed.options);
  const caller: Caller = { ...failed.caller, origin: 'workflow', originID: failed.id };
  const about = {
    instanceID: failed.id,
    workflowID: failed.workflow_id,
    error: { ...failed.error },
    input: failed.input,
  };
  const input = resolveInputs(options.inputDefinitions, about, { field: 'input' });
  const id = newID();
  // Without the handler's own `onFailure`: a handler that fails starts no other, so two handlers cannot start each other for ever.
  const governed = governRun(options, { workflowID, caller, input });
  await insertRuns(client, [
    { id, tenantID, workflowID, versionID, caller, input, ...governed, timeoutMs: runTimeoutMs(options) },
  ]);
  return id;
}

const NEXT_TENANT = `
select tenant_id as "tenantID", (
  select count(*)::int from (select from run_failure f where f.handled_at is null and f.tenant_id = next.tenant_id limit ${BATCH}) counted
) as count
from (select tenant_id from run_failure where handled_at is null and tenant_id > $1::uuid order by tenant_id limit 1) next`;

const LOCK = `
select i.id, i.tenant_id, i.workflow_id, i.caller, i.error, i.input, f.handler_id, w.version_id, w.is_disabled, w.workflow_options as options
from (
  select instance_id, handler_id from run_failure
  where handled_at is null and tenant_id = $1 order by tenant_id, created_at limit $2 for update skip locked
) f
join workflow_instance i on i.id = f.instance_id
left join workflow w on w.id = f.handler_id and w.tenant_id = i.tenant_id`;

const HANDLED = `
update run_failure set handled_at = now(), handler_instance_id = $2, error = $3 where instance_id = $1`;
