import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startPostgres } from '../embedded/postgres.ts';
import type { BenchEnvironment } from './environment.ts';
import type { Figure } from './row.ts';

/** One line that such a script prints. The unit is milliseconds of processor time. */
export interface PrintedFigure {
  figure: string;
  value: number;
  floor: number;
}

/** Runs a script of this folder that uses the clusters of the tests, on the row's own servers, and reads the figures that it prints. */
export async function figuresOf(
  script: string,
  args: readonly string[],
  environment: BenchEnvironment,
): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'gantry-bench-tenants-'));
  resources.defer(() => rm(dir, { recursive: true, force: true }));
  const ofTenants = {
    dir: join(dir, 'tenants'),
    database: 'postgres',
    log: join(dir, 'tenants.log'),
    forTenants: true,
  };
  const tenants = resources.use(await startPostgres(ofTenants));
  const child = spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, script), ...args], {
    env: {
      PATH: process.env.PATH ?? '',
      NODE_ENV: 'test',
      TEST_DATABASE_URL: environment.env.DATABASE_URL,
      TEST_DATASOURCE_URL: tenants.url,
      TEST_TENANTS_URL: tenants.url,
      GANTRY_TEST_BACKPLANE: 'postgres',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`${script} ended with ${code}`);
  const settings = await environment.settings();
  return printed
    .split('\n')
    .filter(Boolean)
    .map((line): Figure => {
      const { figure, value, floor } = JSON.parse(line) as PrintedFigure;
      const ratio = Number((value / floor).toFixed(2));
      return { figure, value: round(value), unit: 'ms of processor time', floor: round(floor), ratio, settings };
    });
}

function round(ms: number): number {
  return Number(ms.toFixed(1));
}
