import type { ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { checkNode } from '#shared/workflow/graph/check-node.ts';
import { ErrorHandling } from '#shared/workflow/nodes/common.ts';
import { type AnyNode, nodes } from '#shared/workflow/nodes/index.ts';
import { isPure } from '#shared/workflow/nodes/properties.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aDataQuery, aDatasource, aUser } from '#test/support/factories.ts';
import { code, graph } from '#test/support/graphs.ts';
import { type HTTPServer, json, startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { type KindRow, rowsOfKinds, type Surroundings, type Way } from '#test/workers/nodes/every-kind.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

/** Further deliveries of each job and wake, beside its own. */
const DELIVERIES = 4;
/** Longer than a busy machine needs until a node of every kind is under way. */
const OPTIONS = { defaultNodeTimeoutSeconds: 600 };

let cluster: Cluster;
let worker: WorkerContext;
let service: HTTPServer;
let around: Omit<Surroundings, 'input'>;
/** Calls of `/held` are answered when it resolves. */
let gate = Promise.withResolvers<void>();
/** How often the service was called under each idempotency key. */
const calls = new Map<string, number>();

beforeAll(async () => {
  service = await startHTTP(async ({ url, headers, body }, response) => {
    if (url === MODEL) return answerAsModel(JSON.parse(body), response);
    const key = String(headers['idempotency-key']);
    calls.set(key, (calls.get(key) ?? 0) + 1);
    if (url === '/held') await gate.promise;
    json(response, { ok: url !== '/fails' }, url === '/fails' ? 500 : 200);
  });
  cluster = await startCluster({ workers: 0, settings: { SANDBOX_PROCESSES: '2', ...modelAt(service.origin) } });
  await cluster.pool.query(`insert into quota (owner_id, name, max) values ($1, 'aiCalls', 1000)`, [cluster.tenantID]);
  worker = await cluster.startWorker();
  const tenant = { id: cluster.tenantID, creator: await aUser(cluster) };
  const datasource = await aDatasource(cluster, { tenant, type: 'restapi', options: { baseUrl: service.origin } });
  const query = { apiEndpoint: '/{{inputs.path}}', method: 'POST' };
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant, datasource, query });
  around = { service: service.origin, dataQueryID, ...(await saveChildren()) };
});
afterAll(async () => {
  gate.resolve();
  await cluster[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const MODEL = '/v1/chat/completions';

function modelAt(origin: string) {
  return { AI_PROVIDER: 'openai-compatible', AI_BASE_URL: `${origin}/v1`, AI_MODEL: 'test' };
}

async function answerAsModel({ messages }: { messages: { content: string }[] }, response: ServerResponse) {
  const prompt = messages.at(-1)?.content;
  if (prompt === '/held') await gate.promise;
  const message = { role: 'assistant', content: '{"ok": true}' };
  const usage = { prompt_tokens: 1, completion_tokens: 1 };
  json(response, { choices: [{ index: 0, message, finish_reason: 'stop' }], usage }, prompt === '/fails' ? 500 : 200);
}

async function saveChildren() {
  const start = { type: 'start' };
  const end = (name: string, sourceVariable: string) => ({ type: 'end', outputParameters: [{ name, sourceVariable }] });
  const call = { type: 'http', url: `${service.origin}/held`, method: 'POST' };
  const [quick, failing, waiting] = await Promise.all([
    cluster.saveWorkflow(graph({ start, end: end('got', '{{ctx.input.n}}') }, ['start>end'])),
    cluster.saveWorkflow(graph({ start, bad: code('throw new Error("no luck")') }, ['start>bad'])),
    cluster.saveWorkflow(
      graph({ start, call, end: end('ok', '{{ctx.httpResponse.ok}}') }, ['start>call', 'call:success>end']),
    ),
  ]);
  return { child: quick.workflowID, failingChild: failing.workflowID, openChild: waiting.workflowID };
}

function check(type: string, data: JsonObject) {
  return runSync(checkNode({ id: 'node', type, data }));
}

interface Entry {
  definition: AnyNode;
  kind: string;
  row: KindRow;
}

/** The rows, for runs whose code ends at a moment. */
function tableUntil(until = 0) {
  const input = { n: 7, items: [1, 2], word: 'many', until };
  const rows = rowsOfKinds({ ...around, input });
  const table = nodes.map((definition): Entry => ({ definition, kind: definition.kind, row: rows[definition.kind] }));
  return { input, table };
}

interface Planned {
  kind: string;
  /** Says in an error which of the kind's runs it is. */
  what: string;
  way: Partial<Way>;
  graph: { nodes: object[]; edges: object[] };
  output: JsonObject | null;
}

/** A node of the kind between a start and, behind each of its exits that are connected, an end that names the exit. */
function graphAround(
  definition: AnyNode,
  { data = {}, body }: Partial<Way>,
  { without = '', between }: { without?: string; between?: { type: string; [field: string]: unknown } } = {},
) {
  const { kind, begins, ends } = definition;
  const id = begins ? 'start' : 'node';
  const { exits = [], config } = check(kind, data);
  const { outputVariable } = config as { outputVariable?: string };
  const { before, edges } = wayTo(id, definition, between);
  const named: Parameters<typeof graph>[0] = { start: { type: 'start' }, ...before, [id]: { ...data, type: kind } };
  for (const exit of exits) {
    if (exit === definition.body) {
      named.body = body ?? { type: 'log', message: 'an item' };
      edges.push(`${id}:${exit}>body`);
      continue;
    }
    if (exit === without || ends) continue;
    const sourceVariable = outputVariable ? `{{ctx.${outputVariable}}}` : true;
    named[`end ${exit}`] = { type: 'end', outputParameters: [{ name: exit, sourceVariable }] };
    if (between) named[`between ${exit}`] = between;
    const way = between
      ? [`${id}:${exit}>between ${exit}`, `between ${exit}>end ${exit}`]
      : [`${id}:${exit}>end ${exit}`];
    edges.push(...way);
  }
  return graph(named, edges);
}

/** Behind an end there is nothing, so what is to stand between stands before it. */
function wayTo(
  id: string,
  { begins, ends }: AnyNode,
  between?: { type: string; [field: string]: unknown },
): { before: Parameters<typeof graph>[0]; edges: string[] } {
  if (begins) return { before: {}, edges: [] };
  if (!ends || !between) return { before: {}, edges: [`start>${id}`] };
  return { before: { before: between }, edges: ['start>before', `before>${id}`] };
}

async function accept(planned: readonly Planned[], input: JsonObject, timeoutMs = 3_600_000): Promise<string[]> {
  const versions = await Promise.all(planned.map((one) => cluster.saveVersion(one.graph, OPTIONS)));
  return cluster.runs.acceptMany(versions.map((versionID) => cluster.newRun(versionID, input, { timeoutMs })));
}

/** Answers what the runs ask, and lets the time of those pass that are to wait for nothing else, until all have ended. */
async function end(planned: readonly Planned[], ids: readonly string[], meanwhile = async () => {}): Promise<void> {
  const answered = new Set<string>();
  await eventually(async () => {
    await meanwhile();
    const { rows } = await cluster.pool.query<{ id: string }>(
      'select id from workflow_instance where id = any($1::uuid[]) and completed_at is null',
      [ids],
    );
    const open = rows.map(({ id }) => ({ id, ...planned[ids.indexOf(id)] }));
    for (const { id, way } of open)
      if (way?.answer !== undefined && !answered.has(id) && (await answer(id, way.answer))) answered.add(id);
    expect(open.map(({ kind, what }) => `${kind} ${what}`)).toEqual([]);
  });
}

/** Gives a run that waits what it waits for. False if it does not wait yet. */
async function answer(id: string, given: JsonObject | null): Promise<boolean> {
  const { rowCount } = await cluster.pool.query(given ? GIVE : EXPIRE, given ? [id, given] : [id]);
  if (rowCount) await cluster.runs.wake([id]);
  return Boolean(rowCount);
}

const GIVE = `
with answered as (
  update collection_request set status = 'COMPLETED', submitted_data = $2 where instance_id = $1 and status = 'PENDING' returning id
), event as (
  insert into workflow_event (id, tenant_id, name, key, data, bytes, caller, is_told, remembered_until)
  select uuidv7(), tenant_id, name, key, $2, 20, '{}', true, now() from event_wait where instance_id = $1 and is_open returning id
), given as (
  update event_wait set is_open = false, event_id = event.id from event where instance_id = $1 returning event_wait.id
)
select from answered union all select from given`;

const EXPIRE = `
with late as (update collection_request set expires_at = now() where instance_id = $1 and status = 'PENDING'),
  unheard as (update event_wait set expires_at = now() where instance_id = $1 and is_open)
update run_wait set due_at = now() where instance_id = $1`;

/** Compares what the runs came to, all in one error. */
async function expectOutcomes(planned: readonly Planned[], ids: readonly string[]): Promise<void> {
  const found = await Promise.all(ids.map((id) => cluster.read(id)));
  const shown = ({ kind, what }: Planned, rest: object) => ({ run: `${kind} ${what}`, ...rest });
  expect(planned.map((one, at) => shown(one, { status: found[at]?.status, output: found[at]?.output }))).toEqual(
    planned.map((one) => shown(one, { status: 'COMPLETED', output: one.output })),
  );
  const { rows } = await cluster.pool.query(
    `select instance_id, node_id, count(*) as n from run_event where instance_id = any($1::uuid[]) and status in ('SUCCESS', 'SKIPPED')
     group by instance_id, node_id, frame having count(*) > 1`,
    [ids],
  );
  expect(rows, 'nodes with two outcomes').toEqual([]);
}

function plannedWays(table: readonly Entry[], more?: Parameters<typeof graphAround>[2]): Planned[] {
  return table.flatMap(({ definition, kind, row }) =>
    row.ways.map((way, at) => {
      const output = way.exits as JsonObject;
      return { kind, what: `way ${at}`, way, output, graph: graphAround(definition, way, more) };
    }),
  );
}

function plannedLasting(table: readonly Entry[], more: JsonObject = {}) {
  return table.flatMap(({ definition, kind, row: { lasting } }) => {
    if (!lasting) return [];
    const way = { ...lasting, data: { ...lasting.data, ...more } };
    const output = lasting.exits as JsonObject;
    return [{ kind, what: 'lasting', way, output, overtime: lasting.overtime, graph: graphAround(definition, way) }];
  });
}

/** Runs in which a node of each kind would be next, behind one that waits. */
function plannedBehind(table: readonly Entry[]): Planned[] {
  return table
    .filter(({ definition }) => !definition.begins)
    .map(({ definition, kind, row: { ways } }): Planned => {
      const [way = {}] = ways;
      const { nodes: own, edges } = graphAround(definition, way);
      const asked = graph({ start: { type: 'start' }, ask: { type: 'approval' } }, ['start>ask', 'ask:approved>node']);
      const others = own.filter(({ id }) => id !== 'start');
      const shape = {
        nodes: [...asked.nodes, ...others],
        edges: [...asked.edges, ...edges.slice(1).map((edge) => ({ ...edge, id: `b${edge.id}` }))],
      };
      return { kind, what: 'behind', way, output: null, graph: shape };
    });
}

/** Returns when a node of each run is being executed or waits. */
async function untilAmid(ids: readonly string[]): Promise<void> {
  await eventually(async () => {
    const { rows } = await cluster.pool.query<{ id: string }>('select distinct instance_id as id from run_wait');
    const waiting = new Set(rows.map(({ id }) => id));
    for (const id of ids)
      if (!waiting.has(id)) expect((await cluster.events(id)).at(-1)).toMatchObject({ status: 'RUNNING' });
  });
}

describe.each(nodes.map((definition) => ({ kind: definition.kind, definition })))('$kind', ({ kind, definition }) => {
  const rowOf = () => tableUntil().table.find((one) => one.kind === kind)?.row ?? expect.fail('there is no row');

  test('a wrong config is refused by the path of its field', () => {
    const { refused } = rowOf();
    expect(refused.length).toBeGreaterThan(1);
    for (const [path, data] of refused) {
      const { issues } = check(kind, data);
      expect(
        issues.map((issue) => issue.path.join('.')),
        JSON.stringify(data),
      ).toEqual([`data.${path}`]);
    }
  });

  test('the table has a way to every exit', () => {
    const { ways } = rowOf();
    const taken = new Set(ways.flatMap(({ exits }) => Object.keys(exits)));
    const all = ways.flatMap(({ data }) => [...(check(kind, data).exits ?? [])]);
    // Behind a body's exit the node does not leave; kinds that cannot fail never leave by `error`.
    const missing = all.filter((exit) => exit !== definition.body && !taken.has(exit));
    const unmatched = new Set(missing.filter((exit) => !isCase(ways, exit)));
    expect([...unmatched]).toEqual([]);
  });

  test('it lasts, or is computed at once', () => {
    const { lasting, failing, ways } = rowOf();
    const config = definition.config.parse(definition.defaultValue);
    expect(lasting === null).toBe(isPure(definition, config));
    expect(failing === null).toBe(!ways.some(({ exits }) => 'error' in exits));
  });
});

/** Whether the exit is one of several that a way's own config names, of which another is taken. */
function isCase(ways: readonly Way[], exit: string): boolean {
  return ways.some(({ data, exits }) => {
    const listed = [...((data.branches ?? data.cases ?? []) as { id: string }[])].map(({ id }) => id);
    return listed.includes(exit) && !Object.hasOwn(exits, exit);
  });
}

test('every kind leaves by each of its exits, with its value', async () => {
  const { input, table } = tableUntil();
  const planned = plannedWays(table);
  const ids = await accept(planned, input);

  await end(planned, ids);

  await expectOutcomes(planned, ids);
});

test('a run whose jobs and wakes are delivered many times does everything once', async () => {
  const { input, table } = tableUntil();
  const planned = plannedWays(table);
  const ids = await accept(planned, input);
  calls.clear();
  let again = 0;

  await end(planned, ids, async () => {
    again += 1;
    if (again > DELIVERIES) return;
    const jobs = ids.flatMap((instanceID) => [1, 2].map((epoch) => ({ instanceID, epoch, again })));
    await cluster.producer.enqueue(workflowRuns, jobs);
    await cluster.runs.wake(ids);
  });

  await expectOutcomes(planned, ids);
  const own = [...calls].filter(([key]) => ids.some((id) => key.startsWith(`${id}.`)));
  expect(own.length).toBeGreaterThan(3);
  expect(own.filter(([, times]) => times > 1)).toEqual([]);
});

type Mode = (typeof ErrorHandling.options)[number];

interface PlannedFailure extends Planned {
  /** How it has to be. */
  status: 'COMPLETED' | 'FAILED';
  exit: string | null;
  attempts: number;
  code: string;
}

/** Runs whose node fails, with each mode and without one, and with an edge from its `error` exit and without one. */
function plannedFailures(entry: Entry): PlannedFailure[] {
  const { definition, row } = entry;
  const { failing } = row;
  if (!failing) return [];
  const modes = ErrorHandling.options.filter(
    (errorHandling) => definition.config.safeParse({ ...definition.defaultValue, errorHandling }).success,
  );
  return [undefined, ...modes].flatMap((mode) =>
    [true, false].map((connected) => plannedFailure(entry, failing, { mode, connected })),
  );
}

function plannedFailure(
  { definition, kind }: Entry,
  { code: errorCode, again, passedOver, ...way }: NonNullable<KindRow['failing']>,
  { mode, connected }: { mode: Mode | undefined; connected: boolean },
): PlannedFailure {
  const data = { ...way.data, ...(mode && { errorHandling: mode }), retryLimit: 1, retryDelaySeconds: 0 };
  const exit = connected ? 'error' : passedOver;
  // The modes of a kind that repeats a body speak of its items: these failures are its own.
  const ofNode = definition.body === undefined || mode === 'fail_workflow' ? mode : undefined;
  const ends = endsTheRun(ofNode, connected);
  return {
    kind,
    what: `${mode ?? 'without a mode'}, ${connected ? 'connected' : 'not connected'}`,
    way: { ...way, data },
    graph: graphAround(definition, { ...way, data }, connected ? {} : { without: 'error' }),
    output: null,
    status: ends ? 'FAILED' : 'COMPLETED',
    exit: ends ? null : exit,
    attempts: again ? 2 : 1,
    code: errorCode,
  };
}

function endsTheRun(mode: Mode | undefined, connected: boolean): boolean {
  return mode === undefined ? !connected : mode === 'fail_workflow' || mode === 'retry_then_fail';
}

test('every kind follows each way to handle an error', async () => {
  const { input, table } = tableUntil();
  const planned = table.flatMap(plannedFailures);
  const ids = await accept(planned, input);

  await end(planned, ids);

  const found = await Promise.all(planned.map((one, at) => readFailure(one, ids[at] ?? '')));
  expect(found).toEqual(
    planned.map(({ kind, what, status, exit, attempts, code: errorCode }) => {
      return { kind, what, status, exit, attempts, code: errorCode, isWhole: true };
    }),
  );
  expect(found.length).toBeGreaterThan(150);
});

async function readFailure({ kind, what, exit }: PlannedFailure, id: string) {
  const [{ status, output, error: ofRun }, events] = await Promise.all([cluster.read(id), cluster.events(id)]);
  const failures = events.filter((event) => event.node_id === 'node' && event.status === 'FAILED');
  const { error } = (failures.at(-1)?.payload ?? {}) as { error?: { code: string } };
  // A kind that forks takes several exits.
  const left = exit !== null && Object.hasOwn(output ?? {}, exit) ? exit : (output && Object.keys(output)[0]) || null;
  // The error of the run is that of its node, with its place.
  const whole = status === 'FAILED' ? { ...error, nodeID: 'node', attempt: failures.length, frame: [] } : null;
  const isWhole = isDeepStrictEqual(ofRun, whole);
  return { kind, what, status, exit: left, attempts: failures.length, code: error?.code, isWhole };
}

test('a run that is cancelled cancels the node that lasts, and none of any kind begins behind one that waits', async () => {
  const { input, table } = tableUntil(Date.now() + 600_000);
  const amid = plannedLasting(table);
  const before = plannedBehind(table);
  const ids = await accept([...amid, ...before], input);
  await untilAmid(ids);

  await Promise.all(ids.map((id) => cluster.runs.stop(cluster.tenantID, id)));
  await cluster.settle();

  for (const [at, { kind, what }] of [...amid, ...before].entries()) {
    const id = ids[at] ?? '';
    expect(await cluster.read(id), `${kind} ${what}`).toMatchObject({ status: 'CANCELLED', held_by: null });
    const statuses = (await cluster.events(id)).filter(({ node_id }) => node_id === 'node').map(({ status }) => status);
    expect(statuses.at(-1), `${kind} ${what}`).toBe(what === 'behind' ? undefined : 'CANCELLED');
  }
  const { rows } = await cluster.pool.query('select from run_wait where instance_id = any($1::uuid[])', [ids]);
  expect(rows).toEqual([]);
});

test('what lasts ends with the time of its node, or else with that of its run, and none of any kind begins after it', async () => {
  const { input, table } = tableUntil(Date.now() + 600_000);
  const ofNode = plannedLasting(table, { timeoutSeconds: 1 }).filter(({ overtime }) => overtime !== null);
  const behind = plannedBehind(table);
  const ofRun: Planned[] = [...plannedLasting(table), ...behind];
  const [first, second] = await Promise.all([accept(ofNode, input), accept(ofRun, input, 2_500)]);

  await eventually(async () => {
    for (const [at, { kind }] of ofNode.entries())
      expect(await cluster.read(first[at] ?? ''), kind).toMatchObject({
        status: 'COMPLETED',
        output: { error: null },
      });
    for (const [at, { kind }] of ofRun.entries())
      expect(await cluster.read(second[at] ?? ''), kind).toMatchObject({
        status: 'FAILED',
        error: { code: 'RUN_TIMEOUT' },
      });
  });

  for (const [at, { kind, overtime }] of ofNode.entries()) {
    const failure = (await cluster.events(first[at] ?? '')).find(({ status }) => status === 'FAILED');
    expect(failure, kind).toMatchObject({ node_id: 'node', payload: { error: { code: overtime } } });
  }
  for (const [at, planned] of ofRun.entries()) {
    const events = await cluster.events(second[at] ?? '');
    const last = events.findLast(({ node_id }) => node_id === 'node')?.status;
    expect(last, `${planned.kind} ${planned.what}`).toBe(behind.includes(planned) ? undefined : 'CANCELLED');
  }
});

test('a worker that is killed in the midst of every kind changes nothing of what they come to', async () => {
  await worker[Symbol.asyncDispose]();
  gate.resolve();
  gate = Promise.withResolvers();
  calls.clear();
  let planned: Planned[] = [];
  let ids: string[] = [];
  const own = () => [...calls].filter(([key]) => ids.some((id) => key.startsWith(`${id}.`)));
  {
    await using process = spawnNode(['workers/main.ts', 'workflow.runs'], cluster.env);
    await eventually(async () => {
      const { rowCount } = await cluster.pool.query('select from worker_session where ended_at is null');
      expect(rowCount).toBe(1);
    });
    const { input, table } = tableUntil(Date.now() + 600_000);
    const between = { type: 'http', url: `${service.origin}/held`, method: 'POST', outputVariable: 'between' };
    planned = [...plannedWays(table, { between }), ...plannedLasting(table)];
    ids = await accept(planned, input);
    await untilAmid(ids);
    // A node is RUNNING before its call has reached the service.
    await eventually(() => expect(own()).not.toEqual([]));
    await process.kill('SIGKILL');
  }
  gate.resolve();
  // The code that runs until a moment ends at once this time; and the lease of the dead worker need not run out.
  await cluster.pool.query(
    `update workflow_instance set input = jsonb_set(input, '{until}', '0') where id = any($1::uuid[])`,
    [ids],
  );
  await cluster.pool.query('update worker_session set ended_at = now() where ended_at is null');
  await cluster.startWorker();

  await end(planned, ids);

  await expectOutcomes(planned, ids);
  expect(own().some(([, times]) => times === 2)).toBe(true);
  expect(own().filter(([, times]) => times > 2)).toEqual([]);
}, 240_000);
