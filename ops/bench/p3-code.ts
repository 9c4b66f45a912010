import { runInNewContext } from 'node:vm';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';

const TIMES = Number(process.env.P3_TIMES ?? 20);
const LIGHT = { nodes: 40, n: 10, mark: 2 };
const HEAVY = { nodes: 10, n: 33, mark: 0.03 };

/** A run of code nodes one after the other, one run at a time, in JavaScript: what the engine adds to the code itself. */
export const p3: Row = async (environment) => {
  await environment.startWorker({ SANDBOX_PROCESSES: '1' });
  const light = await measure(environment, LIGHT);
  const heavy = await measure(environment, HEAVY);
  const settings = { ...(await environment.settings()), times: TIMES };
  const perNode = (light.ms - light.bareMs) / LIGHT.nodes;
  const share = (heavy.ms - heavy.bareMs) / heavy.bareMs;
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
  ];
};

/** The floor is the mark: the code itself is subtracted already. */
function figureOf(figure: string, { value, unit }: Pick<Figure, 'value' | 'unit'>, floor: number, settings: object) {
  const rounded = Number(value.toFixed(3));
  return { figure, value: rounded, unit, floor, ratio: Number((value / floor).toFixed(3)), settings: { ...settings } };
}

interface Measured {
  /** From the acceptance of the run to its end. */
  ms: number;
  /** The same code without an engine. */
  bareMs: number;
}

/** Medians; bare code and runs take turns, so that both have the same machine. */
async function measure(environment: BenchEnvironment, { nodes, n }: { nodes: number; n: number }): Promise<Measured> {
  const versionID = await saveChain(environment, nodes, n);
  const runs: number[] = [];
  const bare: number[] = [];
  for (let time = -2; time < TIMES; time += 1) {
    const [ms, bareMs] = [await timeRun(environment, versionID), timeBare(nodes, n)];
    if (time < 0) continue;
    runs.push(ms);
    bare.push(bareMs);
  }
  return { ms: Number(percentile(runs, 50).toFixed(2)), bareMs: Number(percentile(bare, 50).toFixed(2)) };
}

function codeOf(n: number): string {
  return `function fibo(n) { return n <= 1 ? n : fibo(n - 1) + fibo(n - 2); } return fibo(${n});`;
}

function saveChain({ saveGraph }: BenchEnvironment, count: number, n: number): Promise<string> {
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
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Executes code as often as a run has nodes, each time compiled anew and among globals of its own, as the sandbox does. */
function timeBare(nodes: number, n: number): number {
  const began = performance.now();
  for (let at = 0; at < nodes; at += 1) runInNewContext(`(() => { ${codeOf(n)} })()`);
  return performance.now() - began;
}
