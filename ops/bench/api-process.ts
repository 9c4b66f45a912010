import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../embedded/ports.ts';
import type { BenchEnvironment } from './environment.ts';

export interface ServerProcess extends AsyncDisposable {
  url: string;
  pid: number;
}

/** A server process of its own; disposing it stops it. */
export async function startServer(
  { env }: BenchEnvironment,
  file: string,
  settings: Record<string, string> = {},
): Promise<ServerProcess> {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [...process.execArgv, ...(process.env.BENCH_API_ARGS?.split(' ') ?? []), file],
    {
      env: { ...env, ...settings, PORT: String(port), PATH: process.env.PATH ?? '' },
      stdio: 'inherit',
    },
  );
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  for (let waited = 0; waited < 20_000; waited += 50) {
    const answer = await fetch(`${url}/ready`).catch(() => undefined);
    if (answer?.ok && child.pid) return { url, pid: child.pid, [Symbol.asyncDispose]: stop };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await stop();
  throw new Error(`${file} did not start`);
}

/** The API, without limits on requests. */
export async function startApi(environment: BenchEnvironment): Promise<ServerProcess> {
  return startServer(environment, 'api/main.ts', {
    // Requests of keys are counted all the same, as they are in production.
    API_KEY_REQUESTS_PER_MINUTE: '100000000',
    USER_REQUESTS_PER_MINUTE: '0',
  });
}

/** The headers of a member who may do everything in the tenant. */
export async function signIn({ pool, tenantID }: BenchEnvironment, url: string): Promise<Record<string, string>> {
  const { token } = await post<{ token: string }>(`${url}/dev/token`, {}, { email: 'bench@example.com' });
  const user = { authorization: `Bearer ${token}` };
  await fetch(`${url}/api/v1/auth`, { headers: user });
  await pool.query('insert into membership (tenant_id, user_id) select $1, id from app_user', [tenantID]);
  await pool.query(
    `insert into policy_rule (id, tenant_id, kind, subject, object, action)
     select gen_random_uuid(), $1, 'rule', id, '*', '*' from app_user`,
    [tenantID],
  );
  return user;
}

export async function post<T>(url: string, headers: Record<string, string>, body: unknown): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json() as Promise<T>;
}
