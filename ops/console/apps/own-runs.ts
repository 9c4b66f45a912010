import { hasEnded } from '../client/live-runs.ts';
import { body, rest } from '../client/rest.ts';
import type { RunStatus, RunSummary } from '../client/types.ts';
import type { QueryAnswer } from '../page/state/client.ts';

type Values = Readonly<Record<string, unknown>>;

/** Runs for a page that is not saved, with its author's own right, as the API gives them to viewers of one that is. */
export async function readOwnRuns(
  tenantID: string,
  { workflowID, runColumns }: Values,
  { status, offset, pageSize }: Values,
  signal: AbortSignal,
): Promise<QueryAnswer> {
  const size = Number(pageSize) || 20;
  const query = {
    ...{ workflowID: String(workflowID), isTest: 'false' as const, pageSize: size },
    page: Math.floor((Number(offset) || 0) / size) + 1,
    ...(typeof status === 'string' && status !== '' && { status: status as RunStatus }),
  };
  const params = { path: { tenantID }, query };
  const { instances, totalCount } = await body(
    rest.GET('/api/v1/tenants/{tenantID}/workflows/instances', { params, signal }),
  );
  const columns: readonly unknown[] | undefined = Array.isArray(runColumns) ? runColumns : undefined;
  const shown = (row: Values) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !columns || columns.includes(name)));
  return { data: instances.map((run) => shown(rowOf(run))), rowCount: totalCount };
}

function rowOf(run: RunSummary): Values {
  const { instanceID, status, errorCode, createdAt, startedAt, completedAt } = run;
  const isOver = hasEnded(run);
  return {
    ...{ instanceID, status, createdAt, startedAt, completedAt, errorCode },
    startedBy: run.startedBy ? (run.startedBy.type === 'user' ? 'a user' : 'an API key') : run.origin,
    durationSeconds: startedAt && completedAt ? (Date.parse(completedAt) - Date.parse(startedAt)) / 1_000 : null,
    ...{ canOpen: true, canStop: !isOver, canRerun: isOver },
  };
}
