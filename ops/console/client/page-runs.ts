import { body, rest } from './rest.ts';

/** The result of a run of a page, which was too large for a message. */
export async function readPageRun(path: {
  tenantID: string;
  appPageID: string;
  appPageInstanceID: string;
}): Promise<unknown> {
  const answer = await body(
    rest.GET('/api/v1/tenants/{tenantID}/app-pages/{appPageID}/runs/{appPageInstanceID}', { params: { path } }),
  );
  return answer.output;
}
