import { body, rest } from './rest.ts';

/** Cancels a run with all that it has started. */
export async function stopRun(path: { tenantID: string; instanceID: string }): Promise<void> {
  const route = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/stop';
  await body(rest.DELETE(route, { params: { path } }));
}
