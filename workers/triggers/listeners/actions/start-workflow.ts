import { LRUCache } from 'lru-cache';
import type { Rights } from '#shared/access/policy/rights.ts';
import { createBatcher } from '#shared/concurrency/batcher.ts';
import { writeJSON } from '#shared/concurrency/write-json.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import type { Pool } from '#shared/db/pool.ts';
import { createRunsInFlight } from '#shared/tenants/counted-quotas.ts';
import { triggerWorkflow } from '#shared/triggers/listeners/actions.ts';
import { runIDOf } from '#shared/triggers/listeners/run-id.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { governRun } from '#shared/workflow/limits.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';
import { resolveTemplates } from '#shared/workflow/resolve-config.ts';
import type { RunAction } from './action.ts';
import { creatorMayNot } from './creator-rights.ts';

interface Needs {
  pool: Pool;
  rights: Rights;
}

interface Row {
  versionID: string | null;
  isDisabled: boolean;
  options: unknown;
}

interface WorkflowRef {
  tenantID: string;
  workflowID: string;
}

/** Starts workflows. Events that are processed at the same time share the reads of workflows and permissions. */
export function createStartWorkflow({ pool, rights }: Needs): RunAction {
  const inFlight = createRunsInFlight(pool);
  const optionsOf = new LRUCache<string, WorkflowOptions>({ max: 2_000 });
  const find = createBatcher((refs: WorkflowRef[]) => readWorkflows(pool, refs));
  const may = createBatcher((requests: { tenantID: string; caller: Caller; workflowID: string }[]) => {
    const answers = new Map<string, Promise<boolean>>();
    return Promise.all(
      requests.map(({ tenantID, caller, workflowID }) => {
        const key = `${tenantID} ${caller.id} ${workflowID}`;
        const access = { permission: 'workflow.execute', object: `workflow:${workflowID}` } as const;
        const answer = answers.get(key) ?? rights.may({ tenantID, caller }, access);
        answers.set(key, answer);
        return answer;
      }),
    );
  });

  return async (config, { tenantID, eventID, actionID, event, caller, awaitedBy }) => {
    const { workflowID, inputValues } = requireValue(triggerWorkflow.config, config, ['actionConfig']);
    const [workflow, isAllowed] = await Promise.all([
      find({ tenantID, workflowID }),
      may({ tenantID, caller, workflowID }),
    ]);
    // Checked first: a creator without the permission must not learn whether the workflow exists.
    if (!isAllowed) throw creatorMayNot(`execute the workflow ${workflowID}`);
    if (!workflow) throw new AppError('NOT_FOUND', 'There is no such workflow');
    const { versionID, isDisabled } = workflow;
    if (isDisabled) throw new AppError('CONFLICT', 'The workflow is disabled');
    if (versionID === null) throw new AppError('CONFLICT', 'The workflow has drafts only: publish a version of it');
    const refusal = await inFlight.add(tenantID);
    // Retried, because the number of runs in flight falls when runs end.
    if (refusal) throw new AppError('QUOTA_EXCEEDED', refusal.message, { retry: true });

    const options = optionsOf.get(versionID) ?? WorkflowOptions.parse(workflow.options);
    optionsOf.set(versionID, options);
    const filled = inputValues && resolveTemplates(inputValues, event, { root: 'event' });
    const values = isJsonObject(filled) ? filled : { event };
    const input = resolveInputs(options.inputDefinitions, values, { field: 'inputValues' });
    // The transaction that accepts the run writes it without a pause.
    await writeJSON(input);
    const run = {
      id: runIDOf(eventID, actionID),
      tenantID,
      workflowID,
      versionID,
      caller,
      input,
      ...governRun(options, { workflowID, caller, input }),
      timeoutMs: runTimeoutMs(options),
      ...(awaitedBy && { awaitedBy }),
    };
    return { run };
  };
}

async function readWorkflows(pool: Pool, refs: readonly WorkflowRef[]): Promise<(Row | undefined)[]> {
  const ids = [...new Set(refs.map(({ workflowID }) => workflowID))];
  const { rows } = await pool.query<Row & { id: string; tenantID: string }>({
    name: 'workflows_to_start',
    text: WORKFLOWS,
    values: [ids],
  });
  const byID = new Map(rows.map((row) => [row.id, row]));
  return refs.map(({ tenantID, workflowID }) => {
    const row = byID.get(workflowID);
    return row?.tenantID === tenantID ? row : undefined;
  });
}

const WORKFLOWS = `
select id, tenant_id as "tenantID", version_id as "versionID", is_disabled as "isDisabled", workflow_options as options
from workflow where id = any($1::uuid[])`;
