import type { BenchEnvironment } from './environment.ts';
import { percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';
import { runAll } from './run-all.ts';
import { spending } from './spending.ts';

const RUNS = Number(process.env.LOGS_RUNS ?? 200);
const ROUNDS = 5;

/** Lines that a node prints, by the name of the figure. */
const printed = {
  'a line': `console.log('order', ctx.input.n);`,
  '100 lines': `for (let n = 0; n < 100; n += 1) console.log('order', n);`,
};

/**
 * Processor time of a run of one code node that prints, of worker, sandbox and servers together, and the bytes that it adds to the log of
 * Postgres. The floor is the same node without a print, alternating with it.
 */
export const logs: Row = async (environment) => {
  const worker = await environment.startWorker({ SANDBOX_PROCESSES: '1' });
  const silent = await codeNode(environment, '');
  const figures: Figure[] = [];
  for (const [figure, code] of Object.entries(printed)) {
    const versions = { silent, printing: await codeNode(environment, code) };
    figures.push({ figure, ...(await measure(environment, versions, worker)) });
  }
  return figures;
};

async function measure(
  environment: BenchEnvironment,
  versions: Record<'silent' | 'printing', string>,
  worker: number,
): Promise<Figure> {
  const ms = { silent: [] as number[], printing: [] as number[] };
  const wal = { silent: [] as number[], printing: [] as number[] };
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const how of ['silent', 'printing'] as const) {
      const from = await walPosition(environment);
      const spent = await spending({ worker, ...environment.pids });
      await runAll(environment, versions[how], RUNS);
      const all = Object.values(await spent(RUNS)).reduce<number>((sum, one) => sum + (one ?? 0), 0);
      const bytes = (await walPosition(environment)) - from;
      // The first is for compilers and caches.
      if (round === 0) continue;
      ms[how].push(Number(all.toFixed(3)));
      wal[how].push(Math.round(bytes / RUNS));
    }
  const [value, floor] = [percentile(ms.printing, 50), percentile(ms.silent, 50)];
  const walBytes = { silent: percentile(wal.silent, 50), printing: percentile(wal.printing, 50) };
  return {
    value,
    unit: 'ms of processor time',
    floor,
    ratio: Number((value / floor).toFixed(3)),
    settings: { ...(await environment.settings()), runs: RUNS, walBytes, ms },
  };
}

function codeNode({ saveGraph }: BenchEnvironment, prints: string): Promise<string> {
  const data = { code: `${prints}\nreturn 1;` };
  return saveGraph(
    [
      { id: 'start', type: 'start', data: {} },
      { id: 'code', type: 'javascript', data },
    ],
    [{ id: 'e', source: 'start', target: 'code', sourceHandle: 'output' }],
  );
}

async function walPosition({ pool }: BenchEnvironment): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes`,
  );
  return Number(rows[0]?.bytes);
}
