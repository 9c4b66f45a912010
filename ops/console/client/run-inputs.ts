import { queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { WorkflowIDs } from './workflows.ts';

const RUNS = '/api/v1/tenants/{tenantID}/workflows/instances';
const SHOWN = 20;

/** The newest runs of a workflow, whose inputs can be taken again. */
export function runsWithInputsRead({ tenantID, workflowID }: WorkflowIDs) {
  return queryOptions({
    queryKey: ['runs', tenantID, 'inputs', workflowID],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { workflowID, limit: SHOWN } };
      return (await body(rest.GET(RUNS, { params }))).instances;
    },
  });
}

/** The input of a run. */
export async function readRunInput(path: { tenantID: string; instanceID: string }): Promise<unknown> {
  const query = { afterSeq: Number.MAX_SAFE_INTEGER, timelineLimit: 1 };
  return (await body(rest.GET(`${RUNS}/{instanceID}`, { params: { path, query } }))).input;
}
