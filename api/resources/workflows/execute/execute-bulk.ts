import { hash } from 'node:crypto';
import { createTimeSlice } from '#shared/concurrency/cooperative.ts';
import { AppError, toWireError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { invalid, mapPaths } from '#shared/core/schema/issues.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import type { BatchItem, ItemOutcome } from '#shared/runs/accept-batch.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { withClientNames } from '../../../http/fields/field-aliases.ts';
import { TENANT_PREFIX } from '../../../http/route/route.ts';
import { chooseVersion } from '../../../runs/choose-version.ts';
import { directRun } from '../../../runs/direct-run.ts';
import type { ExecutableVersion } from '../../../runs/executable-versions.ts';
import { runAliases } from '../../../runs/run-inputs.ts';
import { WorkflowID } from '../../../runs/run-schemas.ts';
import { BulkAnswer, BulkItem, BulkQuery, WorkflowBulk } from './bulk-schemas.ts';

const path = '/workflows/:workflowID/execute/bulk';

export const executeWorkflowBulk = tenantRoute({
  name: 'executeWorkflowBulk',
  method: 'post',
  path,
  summary: 'Execute a workflow many times',
  description:
    'Starts one run for each item, as a batch, and answers for each item in order. An item that is wrong, or beyond the quota of runs in flight, has an `error` and fails no other.',
  permission: 'workflow.execute',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: WorkflowID,
  withWorkflow: true,
  query: BulkQuery,
  takesData: true,
  body: WorkflowBulk,
  response: BulkAnswer,
  idempotent: 'handler',

  async handle(input, context) {
    const { params, query, body, caller, tenantID, idempotency } = input;
    const { versionID, version } = await chooseVersion(input, context, query.version);
    const { workflowID } = params;
    const batch = { id: newID(), tenantID, workflowID, kind: 'execute', label: body.label ?? null, caller } as const;
    const run = { tenantID, workflowID, versionID, caller };
    const asked = [workflowID, query.version ?? null];
    const prepared = await prepareAll(body.items, { run, version, asked });
    const items = prepared.filter((item): item is BatchItem => !(item instanceof AppError));

    const answer = await context.runs.acceptBatch({
      batch,
      items,
      refused: prepared.length - items.length,
      route: `post ${TENANT_PREFIX}${path} items`,
      claim: idempotency,
      answer(outcomes) {
        const rest = outcomes[Symbol.iterator]();
        return answerOf(
          batch.id,
          prepared.map((item) => (item instanceof AppError ? { error: item } : (rest.next().value ?? lost()))),
        );
      },
    });
    // Safe cast: `answerOf` has made it, for this request or for an earlier one with the same key.
    return answer as unknown as ReturnType<typeof answerOf>;
  },
});

type Run = Pick<NewRun, 'tenantID' | 'versionID' | 'caller'> & { workflowID: string };

interface Preparing {
  run: Run;
  version: ExecutableVersion;
  /** The part of the request that two items with the same key must share in order to be the same. */
  asked: unknown[];
}

/** Items as runs, or as errors that name the field. Lets other requests have their turn in between. */
async function prepareAll(rawItems: readonly unknown[], preparing: Preparing): Promise<(BatchItem | AppError)[]> {
  const slice = createTimeSlice();
  const prepared: (BatchItem | AppError)[] = [];
  const keys = new Map<string, number>();
  for (const [index, item] of rawItems.entries()) {
    if (slice.isOver) await slice.renew();
    try {
      prepared.push(prepare(item, { ...preparing, index, keys }));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      prepared.push(mapPaths(error, (at) => ['items', index, ...at]) as AppError);
    }
  }
  return prepared;
}

/** Turns an item into a run. The paths of an error begin in the item. */
function prepare(
  rawItem: unknown,
  { run, version, asked, index, keys }: Preparing & { index: number; keys: Map<string, number> },
): BatchItem {
  const { idempotencyKey: key, ...item } = requireValue(BulkItem, rawItem);
  const first = key === undefined ? undefined : keys.get(key);
  if (first !== undefined)
    throw invalid([{ path: ['idempotencyKey'], message: `is the key of items.${first} too: expected one of its own` }]);
  if (key !== undefined) keys.set(key, index);
  const values = item.args ?? {};
  const tags = [...new Set(item.tags)];
  const ownGovernance = { class: item.class ?? version.governance.class ?? 'batch', priority: item.priority };
  let accepted: ReturnType<typeof directRun>;
  try {
    accepted = directRun(version, { ...run, args: values, asked: ownGovernance });
  } catch (error) {
    // Safe cast: the schema has parsed it above.
    throw withClientNames(error, runAliases, rawItem as JsonObject);
  }
  return {
    run: { ...accepted, tags, ...(item.startAt && { startAt: item.startAt }) },
    ...(key !== undefined && {
      key: { key, requestHash: hash('sha256', JSON.stringify([asked, values, tags, item.startAt ?? null]), 'base64') },
    }),
  };
}

function answerOf(batchID: string, outcomes: readonly ItemOutcome[]) {
  const items = outcomes.map((outcome) =>
    'error' in outcome
      ? { instanceID: null, isReplay: false, error: presentError(outcome.error) }
      : { ...outcome, error: null },
  );
  return {
    batchID,
    accepted: items.filter(({ error, isReplay }) => !error && !isReplay).length,
    replayed: items.filter(({ isReplay }) => isReplay).length,
    refused: items.filter(({ error }) => error).length,
    items,
  };
}

function presentError(error: AppError) {
  const { code, message, details } = toWireError(error);
  // Details of our own errors are objects.
  return { code, message, details: (details ?? null) as JsonObject | null };
}

function lost(): never {
  throw new Error('Every item that was accepted has an outcome');
}
