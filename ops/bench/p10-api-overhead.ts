import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newID } from '#shared/ids.ts';
import { freePort } from '../embedded/ports.ts';
import { type BenchEnvironment, noopChain, percentile } from './environment.ts';
import type { Row } from './row.ts';

const CLIENTS = 50;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const WARM_SECONDS = 3;

/** `GET` one workflow by 50 clients at once, and a bare Express with `pg` that asks the same of the same Postgres. */
export const p10: Row = async (environment) => {
  const workflow = await prepare(environment);
  const keyFile = join(tmpdir(), `gantry-bench-${newID()}.json`);
  const ours = await start(environment, 'api/main.ts', {
    DEV_ISSUER_KEY_FILE: keyFile,
    // Requests are counted against the limit all the same, as they are in production.
    API_KEY_REQUESTS_PER_MINUTE: '100000000',
  });
  const bare = await start(environment, 'ops/bench/p10-bare.ts', {});
  try {
    const credential = await credentialFor(environment, ours.url);
    const path = `/api/v1/tenants/${workflow.tenantID}/workflows/${workflow.id}`;
    const get = {
      ours: { url: `${ours.url}${path}`, credential },
      bare: { url: `${bare.url}/workflows/${workflow.id}`, credential },
    };
    // In turn, so that a slow minute of the machine slows both.
    const rounds = [];
    for (const seconds of [WARM_SECONDS, SECONDS, SECONDS])
      rounds.push({ bare: await load(get.bare, seconds), ours: await load(get.ours, seconds) });
    const [, ...counted] = rounds;
    const mean = (which: 'bare' | 'ours') =>
      Math.round(counted.reduce((sum, round) => sum + round[which].rate, 0) / counted.length);
    const [value, floor] = [mean('ours'), mean('bare')];
    return [
      {
        value,
        unit: 'requests/s',
        floor,
        ratio: Number((value / floor).toFixed(3)),
        settings: {
          ...(await environment.settings()),
          clients: CLIENTS,
          seconds: SECONDS,
          p99Ms: counted.at(-1)?.ours.p99,
          bareP99Ms: counted.at(-1)?.bare.p99,
        },
      },
    ];
  } finally {
    for (const { child } of [ours, bare]) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  }
};

interface Prepared {
  id: string;
  tenantID: string;
}

async function prepare({ pool, tenantID, saveGraph }: BenchEnvironment): Promise<Prepared> {
  const { nodes, edges } = noopChain(9);
  const versionID = await saveGraph(nodes, edges);
  const id = newID();
  await pool.query(
    `insert into workflow (id, tenant_id, title, version_id, creator_id) values ($1, $2, 'Measured', $3, $2)`,
    [id, tenantID, versionID],
  );
  return { id, tenantID };
}

/** The caller: an API key that may read workflows, made by a member who may do everything. */
async function credentialFor({ pool, tenantID }: BenchEnvironment, url: string): Promise<Record<string, string>> {
  const { token } = await post<{ token: string }>(`${url}/dev/token`, {}, { email: 'bench@example.com' });
  const user = { authorization: `Bearer ${token}` };
  await fetch(`${url}/api/v1/auth`, { headers: user });
  await pool.query('insert into membership (tenant_id, user_id) select $1, id from app_user', [tenantID]);
  await pool.query(
    `insert into policy_rule (id, tenant_id, kind, subject, object, action)
     select gen_random_uuid(), $1, 'rule', id, '*', '*' from app_user`,
    [tenantID],
  );
  const { apiKey } = await post<{ apiKey: { key: string } }>(`${url}/api/v1/tenants/${tenantID}/apikeys`, user, {
    apiKeyName: 'Measured',
    apiKeyPermissions: ['workflow.read'],
  });
  return { 'x-api-key': apiKey.key };
}

async function post<T>(url: string, headers: Record<string, string>, body: unknown): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json() as Promise<T>;
}

async function start({ env }: BenchEnvironment, file: string, settings: Record<string, string>) {
  const port = await freePort();
  const child = spawn(process.execPath, [file], {
    env: { ...env, ...settings, PORT: String(port), PATH: process.env.PATH ?? '' },
    stdio: 'inherit',
  });
  const url = `http://127.0.0.1:${port}`;
  for (let waited = 0; waited < 20_000; waited += 50) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) return { child, url };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${file} did not start`);
}

/** Each client asks again as soon as it is answered, on a connection of its own. */
async function load(target: { url: string; credential: Record<string, string> }, seconds: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (performance.now() < end) {
        const began = performance.now();
        await get(target, agent);
        times.push(performance.now() - began);
      }
    }),
  );
  agent.destroy();
  return { rate: times.length / seconds, p99: Number(percentile(times, 99).toFixed(1)) };
}

function get({ url, credential }: { url: string; credential: Record<string, string> }, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers: credential }, (response) => {
      response.resume();
      response.once('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`)),
      );
    })
      .once('error', reject)
      .end();
  });
}
