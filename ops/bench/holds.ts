import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startPostgres } from '../embedded/postgres.ts';
import type { HeldLoop } from './holds-of-requests.ts';
import type { Figure, Row } from './row.ts';

/**
 * The longest time for which a large or hostile request holds the event loop of the API, or of the worker that it asks, in processor
 * time. The floor is what parsing and writing as much JSON takes in the same process. The backplane makes no difference.
 */
export const holds: Row = async (environment) => {
  if (environment.kind === 'redis') return [];
  await using resources = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'gantry-holds-'));
  resources.defer(() => rm(dir, { recursive: true, force: true }));
  const ofTenants = {
    dir: join(dir, 'tenants'),
    database: 'postgres',
    log: join(dir, 'tenants.log'),
    forTenants: true,
  };
  const tenants = resources.use(await startPostgres(ofTenants));
  const child = spawn(process.execPath, [join(import.meta.dirname, 'holds-of-requests.ts'), ...chosenHolds()], {
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
  if (code !== 0) throw new Error(`holds-of-requests.ts ended with ${code}`);
  const settings = await environment.settings();
  return printed
    .split('\n')
    .filter(Boolean)
    .map((line): Figure => {
      const { figure, value, floor } = JSON.parse(line) as HeldLoop;
      const ratio = Number((value / floor).toFixed(2));
      return { figure, value: round(value), unit: 'ms of processor time', floor: round(floor), ratio, settings };
    });
};

/** `HOLDS=bundle npm run bench HOLDS` measures the parts with this word in their name alone. */
function chosenHolds(): string[] {
  return process.env.HOLDS ? [process.env.HOLDS] : [];
}

function round(ms: number): number {
  return Number(ms.toFixed(1));
}
