import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { createLogger } from '#shared/core/logger.ts';
import { createSandbox, type Sandbox } from '#workers/sandbox/pool.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';
import { spending } from './spending.ts';

const TIMES = Number(process.env.P3_TIMES ?? 20);
const LIGHT = { nodes: 40, n: 10, mark: 2 };
/** 3 % of the time of the code; where the chart was measured, that was 93 ms a node, and the ms of this share were 2.8. */
const HEAVY = { nodes: 10, n: 33, mark: 0.03, markMs: 2.8 };

/** About as long as the engine takes from one node to the next. */
const PAUSE_MS = 2;

/** A run of code nodes one after the other, one run at a time, in JavaScript: what the engine adds to the code itself. */
export const p3: Row = async (environment) => {
  const worker = await environment.startWorker({ SANDBOX_PROCESSES: '1' });
  await using sandbox = createSandbox({ processes: 1, maxOutputBytes: 1_000_000 }, createLogger({ level: 'warn' }));
  const beside = { environment, worker, sandbox };
  const light = await measure(beside, LIGHT);
  const heavy = await measure(beside, HEAVY);
  const settings = { ...(await environment.settings()), times: TIMES };
  const perNode = (light.ms - light.bareMs) / LIGHT.nodes;
  const share = (heavy.ms - heavy.bareMs) / heavy.bareMs;
  const perHeavy = (heavy.ms - heavy.pausedMs) / HEAVY.nodes;
  return [
    figureOf(
      `${LIGHT.nodes} nodes of fibo(${LIGHT.n}): added to each`,
      { value: perNode, unit: 'ms p50' },
      LIGHT.mark,
      {
        ...settings,
        ...light,
      },
    ),
    figureOf(`${HEAVY.nodes} nodes of fibo(${HEAVY.n}): added`, { value: share, unit: 'of their time' }, HEAVY.mark, {
      ...settings,
      ...heavy,
    }),
    figureOf(
      `${HEAVY.nodes} nodes of fibo(${HEAVY.n}): added to each, to code that begins after a pause`,
      { value: perHeavy, unit: 'ms p50' },
      HEAVY.markMs,
      settings,
    ),
  ];
};

/** The floor is the mark: the code itself is subtracted already. */
function figureOf(figure: string, { value, unit }: Pick<Figure, 'value' | 'unit'>, floor: number, settings: object) {
  const rounded = Number(value.toFixed(3));
  return { figure, value: rounded, unit, floor, ratio: Number((value / floor).toFixed(3)), settings: { ...settings } };
}

interface Beside {
  environment: BenchEnvironment;
  /** The worker's process id. */
  worker: number;
  /** One of our own, to measure it without the engine. */
  sandbox: Sandbox;
}

interface Chain {
  nodes: number;
  n: number;
}

interface Measured {
  /** From the acceptance of the run to its end. */
  ms: number;
  /** The same code without an engine. */
  bareMs: number;
  /** As `bareMs`, with a pause before each: a processor that has just slept is slower. The pauses are not counted. */
  pausedMs: number;
  /** As `pausedMs`, by calls of the sandbox. */
  sandboxMs: number;
  /** Processor time of a node, by process, and of the code itself. */
  processorMs: { bare: number; worker?: number | null; sandbox?: number | null };
}

/** Medians; the measurements alternate, so that all have the same machine. */
async function measure({ environment, worker, sandbox }: Beside, chain: Chain): Promise<Measured> {
  const versionID = await saveChain(environment, chain);
  const work = {
    ms: () => timeRun(environment, versionID),
    bareMs: () => timeBare(chain),
    pausedMs: () => timePaused(chain),
    sandboxMs: () => timeSandbox(sandbox, chain),
  };
  const names = ['ms', 'bareMs', 'pausedMs', 'sandboxMs'] as const;
  const times: Record<(typeof names)[number], number[]> = { ms: [], bareMs: [], pausedMs: [], sandboxMs: [] };
  for (const name of names) for (let warming = 0; warming < 2; warming += 1) await work[name]();
  const spent = await spending({ worker, sandbox: await childOf(worker) });
  let ofBare = 0;
  for (let time = 0; time < TIMES; time += 1)
    for (const name of names) {
      const before = process.cpuUsage();
      times[name].push(await work[name]());
      const { user, system } = process.cpuUsage(before);
      if (name === 'bareMs') ofBare += (user + system) / 1_000;
    }
  const each = await spent(TIMES * chain.nodes);
  const p50 = (name: (typeof names)[number]) => Number(percentile(times[name], 50).toFixed(2));
  return {
    ms: p50('ms'),
    bareMs: p50('bareMs'),
    pausedMs: p50('pausedMs'),
    sandboxMs: p50('sandboxMs'),
    processorMs: { bare: Number((ofBare / TIMES / chain.nodes).toFixed(3)), ...each },
  };
}

/** The process that a worker has started for user code, on Linux. */
async function childOf(worker: number): Promise<number> {
  const children = await readFile(`/proc/${worker}/task/${worker}/children`, 'utf8').catch(() => '');
  return Number(children.split(' ')[0]);
}

function codeOf(n: number): string {
  return `function fibo(n) { return n <= 1 ? n : fibo(n - 1) + fibo(n - 2); } return fibo(${n});`;
}

function saveChain({ saveGraph }: BenchEnvironment, { nodes: count, n }: Chain): Promise<string> {
  const ids = ['start', ...Array.from({ length: count }, (_, at) => `n${at}`)];
  const nodes = ids.map((id) =>
    id === 'start' ? { id, type: id, data: {} } : { id, type: 'javascript', data: { code: codeOf(n) } },
  );
  const edges = ids.slice(1).map((target, at) => {
    return { id: `e${at}`, source: ids[at], target, sourceHandle: at === 0 ? 'output' : 'success' };
  });
  return saveGraph(nodes, edges);
}

async function timeRun({ pool, runs, tenantID }: BenchEnvironment, versionID: string): Promise<number> {
  const { instanceID } = await runs.accept({
    tenantID,
    workflowID: null,
    versionID,
    caller: { type: 'system', id: tenantID, origin: 'direct' },
    input: {},
    timeoutMs: 600_000,
  });
  for (;;) {
    const { rows } = await pool.query<{ status: string; ms: number }>(
      `select status, extract(epoch from completed_at - created_at)::float8 * 1000 as ms from workflow_instance
       where id = $1 and completed_at is not null`,
      [instanceID],
    );
    const [row] = rows;
    if (row?.status === 'COMPLETED') return row.ms;
    if (row) throw new Error(`The run is ${row.status}`);
    // Seldom: the times are the database's, and each poll takes processor time from what is measured.
    await sleep(50);
  }
}

/** Executes code as often as a run has nodes, each time compiled anew and among globals of its own, as the sandbox does. */
function timeBare({ nodes, n }: Chain): number {
  const began = performance.now();
  for (let at = 0; at < nodes; at += 1) execute(n);
  return performance.now() - began;
}

function execute(n: number): void {
  runInNewContext(`(() => { ${codeOf(n)} })()`);
}

function timePaused({ nodes, n }: Chain): Promise<number> {
  return timeAfterPauses(nodes, () => execute(n));
}

function timeSandbox(sandbox: Sandbox, { nodes, n }: Chain): Promise<number> {
  const request = { tenantID: 'bench', code: codeOf(n), args: { ctx: {} }, timeoutMs: 30_000 };
  return timeAfterPauses(nodes, () => sandbox.run(request, new AbortController().signal));
}

async function timeAfterPauses(nodes: number, work: () => unknown): Promise<number> {
  let ms = 0;
  for (let at = 0; at < nodes; at += 1) {
    await sleep(PAUSE_MS);
    const began = performance.now();
    await work();
    ms += performance.now() - began;
  }
  return ms;
}
