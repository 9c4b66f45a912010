import { setTimeout as sleep } from 'node:timers/promises';
import { graphOf } from './graph.ts';
import { ANSWER, type PlannedRun, type Shape } from './program.ts';

const REQUEST_MS = 8_000;

/** A client that wants each of its runs once: it repeats a request under the same key until it is answered. */
export interface ChaosClient {
  readonly tenantID: string;
  /** Starts the run. Answers its id, once the API has acknowledged it. */
  start(run: PlannedRun, key: string): Promise<string>;
  /** Answers a question, as a person would. What fails is left to the next try. */
  answer(collectionRequestID: string): Promise<void>;
}

/** Makes a tenant and the workflows of the shapes. */
export async function createChaosClient(
  apiURL: string,
  { shapes, serviceURL }: { shapes: readonly Shape[]; serviceURL: string },
): Promise<ChaosClient> {
  let token = '';

  async function send(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${apiURL}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }), ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
  }

  /** Repeats the request until it succeeds. An answer that a repetition cannot change is an error. */
  async function persist(
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Record<string, unknown>> {
    for (;;) {
      const response = await send(path, body, headers).catch(() => undefined);
      const answer = await response?.json().catch(() => undefined);
      if (response?.ok && answer) return answer as Record<string, unknown>;
      const mayPass = !response || response.status >= 500 || [408, 409, 429].includes(response.status);
      if (!mayPass) throw new Error(`POST ${path}: ${response.status} ${JSON.stringify(answer)}`);
      await sleep(200);
    }
  }

  ({ token } = (await persist('/dev/token', { email: 'chaos@example.test' })) as { token: string });
  const { tenant } = (await persist('/api/v1/tenants', { tenantTitle: 'Chaos' })) as { tenant: { id: string } };
  const base = `/api/v1/tenants/${tenant.id}/workflows`;
  const dataQueryID = await createQuery(`/api/v1/tenants/${tenant.id}`);
  const workflowIDs: string[] = [];
  for (const [index, shape] of shapes.entries()) {
    const graph = graphOf(shape, { serviceURL, dataQueryID, childID: workflowIDs[0] });
    const { workflow } = (await persist(base, { title: `Shape ${index}`, ...graph })) as { workflow: { id: string } };
    workflowIDs.push(workflow.id);
  }

  async function createQuery(tenantPath: string): Promise<string> {
    const { datasource } = (await persist(`${tenantPath}/datasources`, {
      datasourceTitle: 'Counters',
      datasourceType: 'restapi',
      datasourceOptions: { baseUrl: serviceURL },
    })) as { datasource: { id: string } };
    const [counter, amount, failures] = ['{{inputs.counter}}', '{{inputs.amount}}', '{{inputs.failures}}'];
    const { dataQuery } = (await persist(`${tenantPath}/queries`, {
      dataQueryTitle: 'Add',
      datasourceID: datasource.id,
      dataQueryOptions: { apiEndpoint: '/add', method: 'POST', body: { counter, amount, failures } },
    })) as { dataQuery: { id: string } };
    return dataQuery.id;
  }

  return {
    tenantID: tenant.id,
    async start({ shape, n }, key) {
      const answer = await persist(
        `${base}/${workflowIDs[shape]}/execute`,
        { args: { n } },
        { 'idempotency-key': key },
      );
      return String(answer.instanceID);
    },
    async answer(collectionRequestID) {
      const path = `${base}/data-collection/${collectionRequestID}/submit`;
      const response = await send(path, { submittedData: { answer: ANSWER } }).catch(() => undefined);
      await response?.body?.cancel();
    },
  };
}
