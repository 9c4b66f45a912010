import { body, rest } from './rest.ts';

/** Cancels a run with all that it has started. */
export async function stopRun(path: { tenantID: string; instanceID: string }): Promise<void> {
  const route = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/stop';
  await body(rest.DELETE(route, { params: { path } }));
}

/** Repeats a run from its start, with the version and the input that it had; answers with the id of the new one. */
export async function repeatRun(path: { tenantID: string; instanceID: string }): Promise<string> {
  const route = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/rerun';
  const answer = await body(rest.POST(route, { params: { path }, body: { from: 'start', version: 'original' } }));
  return answer.instanceID;
}
