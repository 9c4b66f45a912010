import { setTimeout as sleep } from 'node:timers/promises';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { type HTTPServer, startHTTP } from '#test/support/http-server.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { type Statement, startStatementProxy, type Verdict } from '#test/support/statement-proxy.ts';
import { childGraph, type Scenario, type ScenarioName, scenarios } from './crash-scenarios.ts';

/** The death of a worker at the n-th statement about its run, or call of its run: before or after that had its effect. */
export interface CrashPoint {
  scenario: ScenarioName;
  n: number;
  when: 'before' | 'after';
}

export interface CrashResult {
  /** The point that was reached; undefined if the run had ended before it. */
  reached: string | undefined;
  /** Differences from a run without a crash; empty if there are none. */
  differences: string[];
}

export const describePoint = ({ scenario, n, when }: CrashPoint): string => `${scenario}:${n}:${when}`;

export function parsePoint(text: string): CrashPoint {
  const [scenario = '', n, when] = text.split(':');
  if (!(scenario in scenarios) || !(Number(n) > 0) || (when !== 'before' && when !== 'after'))
    throw new Error(`A crash point looks like "in turn:12:before", not like "${text}"`);
  return { scenario: scenario as ScenarioName, n: Number(n), when };
}

const TIMEOUT_MS = 60_000;

/** Lets the worker of a run die at the point. Another worker ends the run, and the end is compared with that of a run without a crash. */
export async function crashAt(point: CrashPoint): Promise<CrashResult> {
  await using resources = new AsyncDisposableStack();
  const scenario: Scenario = scenarios[point.scenario];
  const deployment = resources.use(
    await startDeployment({ WORKER_SLOTS: '4', WORKER_SESSION_SECONDS: '5', ...scenario.settings }),
  );
  const victim = resources.use(await startVictim(deployment, point));
  using _person = answerQuestions(deployment);

  await until(async () => victim.hasEnded() || (await countOpen(deployment)) === 0);
  await victim.die();
  const interrupted = await findInterrupted(deployment);
  await deployment.pool.query('update worker_session set ended_at = now()');
  await deployment.startWorker();
  await until(async () => (await countOpen(deployment)) === 0);
  return { reached: victim.reached(), differences: await compare(deployment, { scenario, victim, interrupted }) };
}

interface Victim extends AsyncDisposable {
  ids: readonly string[];
  /** The number of calls, by their path and idempotency key. */
  calls: ReadonlyMap<string, number>;
  reached(): string | undefined;
  hasEnded(): boolean;
  /** Returns when nothing of it is left, neither in Postgres. */
  die(): Promise<void>;
}

/** Starts runs, the service that they call, and a worker that dies at the point. */
async function startVictim(deployment: Deployment, { scenario: name, n, when }: CrashPoint): Promise<Victim> {
  await using resources = new AsyncDisposableStack();
  const { graph, others = 0, stopAt, callMs = 0 }: Scenario = scenarios[name];
  const calls = new Map<string, number>();
  let passed = 0;
  let reached: string | undefined;
  let child: Spawned | undefined;

  function kill(what: string): void {
    reached = what;
    child?.child.kill('SIGKILL');
  }

  const service: HTTPServer = resources.use(
    await startHTTP(async ({ url, headers }, response) => {
      const key = `${url} ${headers['idempotency-key']}`;
      calls.set(key, (calls.get(key) ?? 0) + 1);
      const isPoint = key.includes(ids[0] ?? '-') && isNext();
      if (isPoint && when === 'before') return kill(`call ${url}`);
      // Only of the worker that dies: the next one is answered.
      if (url === stopAt && reached === undefined && child?.child.exitCode === null)
        return void child.child.kill('SIGTERM');
      await sleep(callMs);
      response.statusCode = url === '/fails-once' && calls.get(key) === 1 ? 503 : 200;
      response.end('{}', () => isPoint && kill(`answer of ${url}`));
    }),
  );
  const sub = await deployment.saveWorkflow(childGraph(service.origin));
  const versionID = await deployment.saveVersion(graph(service.origin, sub.workflowID));
  const ids = await deployment.runs.acceptMany(
    Array.from({ length: 1 + others }, () => deployment.newRun(versionID, { n: 1 })),
  );
  const about = new Set([ids[0] ?? '-', versionID, sub.workflowID, sub.versionID]);

  function isNext(): boolean {
    // Calls of the worker that ends the run are no points.
    if (reached !== undefined || child?.child.exitCode !== null) return false;
    passed += 1;
    return passed === n;
  }

  function judge({ text, name: prepared, sent }: Statement): Verdict {
    if (reached !== undefined) return { lose: 'statement' };
    if (![...about].some((id) => sent.includes(id))) return 'pass';
    for (const [, id] of sent.matchAll(/"parent_id":"[^"]+","id":"([^"]+)"/g)) if (id) about.add(id);
    if (!isNext()) return 'pass';
    const what = prepared || text.trim().replaceAll(/\s+/g, ' ').slice(0, 60);
    return { lose: when === 'before' ? 'statement' : 'answer', onLost: () => kill(what) };
  }

  const proxy = resources.use(await startStatementProxy(deployment.config.db.url));
  proxy.decide = judge;
  const { TEST_LOG_LEVEL = 'silent' } = process.env;
  const env = { ...deployment.env, DATABASE_URL: proxy.databaseURL, LOG_LEVEL: TEST_LOG_LEVEL };
  const spawned = resources.use(spawnNode(['workers/main.ts', 'workflow.runs'], env));
  child = spawned;
  const hasEnded = () => spawned.child.exitCode !== null || spawned.child.signalCode !== null;
  const owned = resources.move();
  return {
    ids,
    calls,
    reached: () => reached,
    hasEnded,
    async die() {
      if (!hasEnded()) await spawned.kill('SIGKILL');
      await until(async () => {
        const { rowCount } = await deployment.pool.query(CONNECTIONS);
        return rowCount === 0;
      });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const CONNECTIONS = `
select from pg_stat_activity where datname = current_database() and application_name like 'gantry.worker%'`;

/** A person who answers each question at once. */
function answerQuestions({ pool, runs }: Deployment): Disposable {
  const timer = setInterval(async () => {
    const { rows } = await pool
      .query<{ id: string }>(
        `update collection_request set status = 'COMPLETED', submitted_data = '{"answer":7}'
         where status = 'PENDING' returning instance_id as id`,
      )
      .catch(() => ({ rows: [] }));
    if (rows.length > 0) await runs.wake(rows.map(({ id }) => id)).catch(() => undefined);
  }, 100);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Nodes whose start is committed and whose outcome is not, as `run.node`. Only these may be executed again. */
async function findInterrupted({ pool, events }: Deployment): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>('select id from workflow_instance');
  const open = new Set<string>();
  for (const { id } of rows)
    for (const { node_id, status } of await events(id))
      if (status === 'RUNNING') open.add(`${id}.${node_id}`);
      else open.delete(`${id}.${node_id}`);
  return open;
}

async function countOpen({ pool }: Deployment): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    'select count(*) as n from workflow_instance where completed_at is null',
  );
  return rows[0]?.n ?? 0;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  while (!(await condition()) && performance.now() < end) await sleep(25);
}

interface Outcome {
  scenario: Scenario;
  victim: Victim;
  interrupted: ReadonlySet<string>;
}

async function compare(deployment: Deployment, { scenario, victim, interrupted }: Outcome): Promise<string[]> {
  const differences: string[] = [];
  for (const id of victim.ids) {
    const { status, output, error } = await deployment.read(id);
    const found = JSON.stringify({ status, output });
    const right = JSON.stringify({ status: 'COMPLETED', output: scenario.output });
    if (found !== right) differences.push(`a run ended as ${found} ${JSON.stringify(error)}, not as ${right}`);
    const seqs = (await deployment.events(id)).map(({ seq }) => seq);
    if (seqs.some((seq, index) => seq !== index + 1)) differences.push(`the numbers of its events are ${seqs}`);
  }
  for (const [path, times] of Object.entries(scenario.calls))
    differences.push(...compareCalls(victim, { path, times, interrupted, keys: scenario.iterations ?? 1 }));
  const children = '/inner' in scenario.calls ? victim.ids.length : 0;
  const { rows } = await deployment.pool.query<{ what: string; n: number }>(LEFT, [children]);
  return [...differences, ...rows.filter(({ n }) => n !== 0).map(({ what, n }) => `${what}: ${n}`)];
}

function* compareCalls(
  { calls, ids }: Victim,
  { path, times, interrupted, keys }: { path: string; times: number; interrupted: ReadonlySet<string>; keys: number },
): Generator<string> {
  const made = [...calls].filter(([key]) => key.startsWith(`${path} `));
  const right = ids.length * keys;
  if (made.length !== right) yield `${path} was called under ${made.length} keys, not ${right}`;
  for (const [key, count] of made) {
    const node = key.slice(path.length + 1, key.lastIndexOf('.'));
    const most = times + (interrupted.has(node) ? 1 : 0);
    if (count < times || count > most) yield `${path} was called ${count} times, not ${times} to ${most}`;
  }
}

/** Finds rows that must not be there. $1: the number of child runs. */
const LEFT = `
select 'runs open' as what, count(*) as n from workflow_instance where completed_at is null
union all select 'runs held', count(*) from workflow_instance where held_by is not null
union all select 'runs ready', count(*) from workflow_instance where ready_at is not null or dispatched_at is not null
union all select 'runs to be woken', count(*) from workflow_instance where wake_at is not null
union all select 'children that are not completed', count(*) from workflow_instance where parent_id is not null and status <> 'COMPLETED'
union all select 'children too many', count(*) - $1::int from workflow_instance where parent_id is not null
union all select 'waits', count(*) from run_wait
union all select 'checkpoints', count(*) from run_checkpoint
union all select 'questions not answered', count(*) from collection_request where status <> 'COMPLETED'
union all select 'nodes with two outcomes', count(*) from (
  select from run_event where status = 'SUCCESS' group by instance_id, node_id, frame having count(*) > 1) twice`;
