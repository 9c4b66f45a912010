import { setTimeout as sleep } from 'node:timers/promises';
import { graphOf } from './graph.ts';
import { groupOf, keyOf, nameOfShape, type PlannedRun, type PlannedStart, type Shape } from './program.ts';
import { ANSWER } from './steps.ts';

const REQUEST_MS = 8_000;
/** Requests at once. While the API is away thousands wait, whose connections would keep this process from carrying those of the API. */
const MAX_REQUESTS = 200;
const PERSON = 'chaos@example.test';

/** An event for the runs with this key. */
export interface Brought {
  name: string;
  key: string;
  brings: number;
}

/** A client that wants each of its runs once: it repeats a request under the same key until it is answered. */
export interface ChaosClient {
  readonly tenantID: string;
  /** Ids of the workflows, one for each shape. */
  readonly workflowIDs: readonly string[];
  /** The workflow that is started for each run that fails. */
  readonly handlerID: string;
  /** The workflows that deliveries and ticks start. */
  readonly triggered: { readonly delivered: string; readonly ticked: string };
  /** Delivers a webhook once. */
  deliver(n: number): Promise<void>;
  /** Adds the ticks of a past range to the cron job. */
  backfill(from: Date, to: Date): Promise<void>;
  /** Ends the ticks of the cron job. */
  pauseCron(): Promise<void>;
  /** Starts runs, several as a batch. Answers their ids, in order, once the API has acknowledged them. */
  start(start: PlannedStart, key: string): Promise<string[]>;
  /** Sends an event that is remembered, once. */
  send(event: Brought): Promise<void>;
  /** Cancels a run. Answers the status that it has then. */
  cancel(instanceID: string): Promise<string>;
  /** Repeats a run that has ended. Answers the id of the new one. */
  repeat(instanceID: string, from: 'start' | 'last', key: string): Promise<string>;
  hasEnded(instanceID: string): Promise<boolean>;
  /** Pauses the workflow of a shape, or the intake of the tenant. */
  pause(shape: number | null): Promise<void>;
  resume(shape: number | null): Promise<void>;
  /** Answers a question, as a person would. What fails is left to the next try. */
  answer(collectionRequestID: string, title: string): Promise<void>;
  /** Sends an event that is not remembered. What fails is left to the next try. */
  bring(event: Brought): Promise<void>;
}

/** Makes a tenant and the workflows of the shapes. */
export async function createChaosClient(
  apiURL: string,
  { shapes, serviceURL }: { shapes: readonly Shape[]; serviceURL: string },
): Promise<ChaosClient> {
  const requests = createRequests(apiURL);
  const { persist, once } = requests;
  requests.token = String((await persist('/dev/token', { body: { email: PERSON } })).token);
  const { tenant } = (await persist('/api/v1/tenants', { body: { tenantTitle: 'Chaos' } })) as {
    tenant: { id: string };
  };
  const tenantPath = `/api/v1/tenants/${tenant.id}`;
  const base = `${tenantPath}/workflows`;
  const dataQueryID = await createQuery(requests, { tenantPath, serviceURL });
  const handlerID = await createWorkflow('Handler', HANDLER);
  const triggered = {
    delivered: await createWorkflow('Delivered', HANDLER),
    ticked: await createWorkflow('Ticked', HANDLER),
  };
  const listenerID = await createListener(requests, { tenantPath, workflowID: triggered.delivered });
  const cronPath = await createCronJob(requests, { tenantPath, workflowID: triggered.ticked });
  const workflowIDs: string[] = [];
  for (const [index, shape] of shapes.entries()) {
    const name = nameOfShape(index);
    const around = { name, serviceURL, dataQueryID, handlerID, childID: workflowIDs[0], person: PERSON };
    workflowIDs.push(await createWorkflow(`Shape ${index}`, graphOf(shape, around)));
  }

  async function createWorkflow(title: string, graph: object): Promise<string> {
    const { workflow } = (await persist(base, { body: { title, ...graph } })) as { workflow: { id: string } };
    return workflow.id;
  }

  function pathOf(shape: number | null): string {
    return shape === null ? `${tenantPath}/intake` : `${base}/${workflowIDs[shape]}`;
  }

  return {
    tenantID: tenant.id,
    workflowIDs,
    handlerID,
    triggered,
    async deliver(n) {
      await persist(`/webhooks/v1/inbound/${listenerID}`, { body: { n }, key: `delivery-${n}` });
    },
    async backfill(from, to) {
      const body = { from: from.toISOString(), to: to.toISOString() };
      await persist(`${cronPath}/backfills`, { body, key: 'backfill' });
    },
    async pauseCron() {
      await persist(`${cronPath}/pause`, {});
    },
    async start({ shape, runs, laterMs }, key) {
      const path = `${base}/${workflowIDs[shape]}/execute`;
      const startAt = laterMs > 0 ? { startAt: new Date(Date.now() + laterMs).toISOString() } : {};
      const [first] = runs;
      if (first && runs.length === 1) {
        const body = { args: argsOf(first, eventKey(key, 0)), ...startAt };
        return [String((await persist(path, { body, key })).instanceID)];
      }
      const items = runs.map((run, at) => {
        return { args: argsOf(run, eventKey(key, at)), idempotencyKey: `${key}.${at}`, ...startAt };
      });
      const answer = (await persist(`${path}/bulk`, { body: { items }, key })) as { items: { instanceID: string }[] };
      return answer.items.map(({ instanceID }) => instanceID);
    },
    async send({ name, key, brings }) {
      const body = { name, key, data: { brings }, rememberMinutes: 60 };
      await persist(`${base}/events`, { body, key: `event-${name}-${key}` });
    },
    async cancel(instanceID) {
      return String((await persist(`${base}/instances/${instanceID}/stop`, { method: 'DELETE' })).status);
    },
    async repeat(instanceID, from, key) {
      const body = { from: from === 'start' ? from : { nodeID: from } };
      return String((await persist(`${base}/instances/${instanceID}/rerun`, { body, key })).instanceID);
    },
    async hasEnded(instanceID) {
      const { status } = await persist(`${base}/instances/${instanceID}`, { method: 'GET' });
      return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(String(status));
    },
    async pause(shape) {
      await persist(`${pathOf(shape)}/pause`, {});
    },
    async resume(shape) {
      await persist(`${pathOf(shape)}/resume`, {});
    },
    async answer(collectionRequestID, title) {
      const path = `${base}/data-collection/${collectionRequestID}/submit`;
      // The schema refuses it; if it did not, the value of the run would be wrong.
      if (title === 'schema') await once(path, { body: { submittedData: { answer: 'seven' } } });
      const isDecision = title === 'approve' || title === 'reject';
      await once(path, { body: { submittedData: isDecision ? { decision: title } : { answer: ANSWER } } });
    },
    async bring({ name, key, brings }) {
      await once(`${base}/events`, { body: { name, key, data: { brings }, rememberMinutes: 0 } });
    },
  };
}

/** The key of the events of a run, by that of the request which starts it and its place among the runs of that. */
export function eventKey(key: string, at: number): string {
  return `${key}.${at}`;
}

function argsOf(run: PlannedRun, key: string): object {
  return { n: run.n, key: keyOf(run), group: groupOf(run), run: key };
}

const HANDLER = {
  workflowNodes: [
    { id: 'start', type: 'start', data: {}, position: { x: 0, y: 0 } },
    { id: 'end', type: 'end', data: {}, position: { x: 200, y: 0 } },
  ],
  workflowEdges: [{ id: 'e0', source: 'start', target: 'end' }],
};

interface Asked {
  method?: 'GET' | 'POST' | 'DELETE';
  body?: object;
  key?: string;
}

interface Requests {
  token: string;
  /** Repeats the request until it succeeds. An answer that a repetition cannot change is an error. */
  persist(path: string, asked: Asked): Promise<Record<string, unknown>>;
  /** Sends the request, and does not look at the answer. */
  once(path: string, asked: Asked): Promise<void>;
}

function createRequests(apiURL: string): Requests {
  let under = 0;
  const waiting: (() => void)[] = [];
  const requests: Requests = {
    token: '',
    async persist(path, asked) {
      for (;;) {
        const response = await send(path, asked).catch(() => undefined);
        const answer = await response?.json().catch(() => undefined);
        if (response?.ok && answer) return answer as Record<string, unknown>;
        const mayPass = !response || response.status >= 500 || [408, 409, 429].includes(response.status);
        if (!mayPass)
          throw new Error(`${asked.method ?? 'POST'} ${path}: ${response.status} ${JSON.stringify(answer)}`);
        await sleep(200);
      }
    },
    async once(path, asked) {
      const response = await send(path, asked).catch(() => undefined);
      await response?.body?.cancel();
    },
  };

  async function send(path: string, asked: Asked): Promise<Response> {
    if (under === MAX_REQUESTS) await new Promise<void>((resolve) => waiting.push(resolve));
    else under += 1;
    try {
      return await sendNow(path, asked);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else under -= 1;
    }
  }

  function sendNow(path: string, { method = 'POST', body, key }: Asked): Promise<Response> {
    const { token } = requests;
    return fetch(`${apiURL}${path}`, {
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...(key && { 'idempotency-key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
  }

  return requests;
}

interface Target {
  tenantPath: string;
  serviceURL: string;
}

async function createQuery({ persist }: Requests, { tenantPath, serviceURL }: Target): Promise<string> {
  const counters = {
    datasourceTitle: 'Counters',
    datasourceType: 'restapi',
    datasourceOptions: { baseUrl: serviceURL },
  };
  const { datasource } = (await persist(`${tenantPath}/datasources`, { body: counters })) as {
    datasource: { id: string };
  };
  const names = ['counter', 'amount', 'failures', 'group'];
  const body = Object.fromEntries(names.map((name) => [name, `{{inputs.${name}}}`]));
  const query = {
    dataQueryTitle: 'Add',
    datasourceID: datasource.id,
    dataQueryOptions: { apiEndpoint: '/add', method: 'POST', body },
  };
  const { dataQuery } = (await persist(`${tenantPath}/queries`, { body: query })) as { dataQuery: { id: string } };
  return dataQuery.id;
}

interface Triggering {
  tenantPath: string;
  workflowID: string;
}

async function createListener({ persist }: Requests, { tenantPath, workflowID }: Triggering): Promise<string> {
  const senders = { datasourceTitle: 'Senders', datasourceType: 'webhook', datasourceOptions: {} };
  const { datasource } = (await persist(`${tenantPath}/datasources`, { body: senders })) as {
    datasource: { id: string };
  };
  const body = { listenerTitle: 'Deliveries', listenerType: 'webhook', datasourceID: datasource.id, status: 'active' };
  const { listener } = (await persist(`${tenantPath}/listeners`, { body })) as { listener: { id: string } };
  const action = { actionType: 'trigger_workflow', actionConfig: { workflowID } };
  await persist(`${tenantPath}/listeners/${listener.id}/actions`, { body: action });
  return listener.id;
}

/** Answers its path. */
async function createCronJob({ persist }: Requests, { tenantPath, workflowID }: Triggering): Promise<string> {
  const body = {
    cronJobTitle: 'Every minute',
    cronJobSchedule: '* * * * *',
    cronJobType: 'workflow',
    cronJobConfig: { workflowID },
  };
  const { cronJob } = (await persist(`${tenantPath}/cronjobs`, { body })) as { cronJob: { id: string } };
  return `${tenantPath}/cronjobs/${cronJob.id}`;
}
