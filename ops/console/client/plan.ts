import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';
import type { WorkflowIDs } from './workflows.ts';

/** Plans a run of a saved version with an input; nothing is executed. */
export async function planWorkflow(
  path: WorkflowIDs,
  args: Readonly<Record<string, unknown>>,
  version: number,
): Promise<Schemas['WorkflowPlanned']> {
  const params = { path, query: { version: String(version) } };
  const given = { args } as Schemas['WorkflowPlan'];
  return body(rest.POST('/api/v1/tenants/{tenantID}/workflows/{workflowID}/plan', { params, body: given }));
}
