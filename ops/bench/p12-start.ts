import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../embedded/ports.ts';
import { post } from './api-process.ts';
import type { BenchEnvironment } from './environment.ts';
import type { Figure } from './row.ts';

/** Marks of the figures. */
const MARKS = { startSeconds: 20, firstUseSeconds: 5, megabytes: 700, connections: 80 };

/**
 * P12: `npm start` in a new folder, until its sample has run; then the first use of a tenant's database, which starts the second
 * Postgres. Memory and connections are those of everything together after that, so the time alone depends on the machine's load.
 * Floors are the marks.
 */
export async function p12({ env, settings }: BenchEnvironment): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const home = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-bench-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const [port, boardPort, mcpPort] = [await freePort(), await freePort(), await freePort()];
  const began = performance.now();
  const child = spawn(process.execPath, [...process.execArgv, 'ops/start.ts'], {
    env: {
      PATH: process.env.PATH ?? '',
      PORT: String(port),
      BOARD_PORT: String(boardPort),
      MCP_PORT: String(mcpPort),
      GANTRY_HOME: home,
      ...(env.REDIS_URL && { REDIS_URL: env.REDIS_URL }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  resources.defer(async () => {
    child.kill('SIGINT');
    await exited;
  });
  let said = '';
  for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    said += text;
    if (said.includes('Ctrl-C stops it')) break;
  }
  if (!said.includes('COMPLETED')) throw new Error(`The sample did not run:\n${said}`);
  child.stdout.resume();
  const startSeconds = (performance.now() - began) / 1_000;
  const before = { megabytes: await megabytesOf(child.pid), connections: await connectionsOf(home, ['postgres']) };

  const url = `http://127.0.0.1:${port}`;
  const { token } = await post<{ token: string }>(`${url}/dev/token`, {}, { email: 'bench@example.com' });
  const user = { authorization: `Bearer ${token}` };
  const tenants = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map((tenantTitle) =>
      post<{ tenant: { id: string } }>(`${url}/api/v1/tenants`, user, { tenantTitle }),
    ),
  );
  const use = ({ tenant }: { tenant: { id: string } }) =>
    post(`${url}/api/v1/tenants/${tenant.id}/database/execute-raw-sql`, user, { sql: 'select 1' });
  const [first, ...others] = tenants;
  const asked = performance.now();
  if (first) await use(first);
  const firstUseSeconds = (performance.now() - asked) / 1_000;
  await Promise.all(others.map(use));
  const megabytes = await megabytesOf(child.pid);
  const connections = await connectionsOf(home, ['postgres', 'tenants']);

  const measured = { ...(await settings()), before, tenants: tenants.length };
  const figure = (name: string, unit: string, value: number, floor: number) => ({
    figure: name,
    value: Number(value.toFixed(1)),
    unit,
    floor,
    ratio: Number((value / floor).toFixed(2)),
    settings: measured,
  });
  return [
    figure('from npm start to the end of the first run', 's', startSeconds, MARKS.startSeconds),
    figure('first use of a database, with the start of its server', 's', firstUseSeconds, MARKS.firstUseSeconds),
    figure('memory of everything, both servers included', 'MB', megabytes, MARKS.megabytes),
    figure('connections to both servers', 'connections', connections, MARKS.connections),
  ];
}

/** Proportional share of memory of the process and all below it: pages that processes share are counted once. */
async function megabytesOf(root: number | undefined): Promise<number> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    const status = /^\d+$/.test(name) ? await readFile(`/proc/${name}/status`, 'utf8').catch(() => '') : '';
    const [, parent] = /^PPid:\s+(\d+)/m.exec(status) ?? [];
    if (parent) parents.set(Number(name), Number(parent));
  }
  const isBelow = (pid: number): boolean => pid === root || (parents.has(pid) && isBelow(parents.get(pid) ?? 0));
  let kilobytes = 0;
  for (const pid of parents.keys()) {
    if (!isBelow(pid)) continue;
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
    kilobytes += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
  }
  return kilobytes / 1024;
}

/** Without the one that counts. */
async function connectionsOf(home: string, servers: readonly string[]): Promise<number> {
  let total = 0;
  for (const server of servers) {
    const [port, password] = await Promise.all(
      ['port', 'password'].map(async (name) => (await readFile(join(home, server, name), 'utf8')).trim()),
    );
    const client = new pg.Client({ connectionString: `postgres://gantry:${password}@127.0.0.1:${port}/postgres` });
    await client.connect();
    const { rows } = await client.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    await client.end();
    total += rows[0]?.n ?? 0;
  }
  return total;
}
