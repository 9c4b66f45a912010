import type { RequestListener } from 'node:http';
import { AppError } from '../core/errors.ts';
import type { Pool } from '../db/pool.ts';
import { compareSchema, describeNewer, requireComplete } from '../entities/schema.ts';
import type { Backplane } from '../messaging/backplane/index.ts';
import type { SecretsCheck } from './open-key-ring.ts';
import { describeHold } from './restore-hold.ts';

/** The response of `GET /ready` of a process. */
export interface Readiness {
  isReady: boolean;
  /** `ok` for each thing that it needs, or the fault, without host names. */
  checks: Readonly<Record<string, string | boolean>>;
}

interface Needed {
  pool: Pool;
  backplane: Pick<Backplane, 'ping'>;
  secrets: SecretsCheck;
  isDraining: boolean;
}

const TIMEOUT_MS = 2_000;

/** Whether a process can work: its dependencies answer, and it is not stopping. */
export async function readReadiness({ pool, backplane, secrets: stored, isDraining }: Needed): Promise<Readiness> {
  const comparison = compareSchema(pool);
  const [postgres, schema, queue, tenantDatabases, secrets, restore] = await Promise.all([
    within(comparison.then(requireComplete)),
    within(requireNoFault(comparison.then(describeNewer))),
    within(backplane.ping()),
    within(requireTenantServers(pool)),
    within(requireNoFault(stored.describeUnreadable()), 'are being counted'),
    within(requireNoFault(describeHold(pool))),
  ]);
  // The process stays ready: a newer schema has all that it needs, after a restore people read and change, and a fault of a tenant's server or of secrets affects those who use them.
  const checks = { postgres, schema, backplane: queue, tenantDatabases, secrets, restore, draining: isDraining };
  return { isReady: postgres === 'ok' && queue === 'ok' && !isDraining, checks };
}

/** `degraded`: it can work, but something that some of its users need is wrong. */
export function bodyOf({ isReady, checks }: Readiness) {
  const isDegraded = Object.values(checks).some((check) => typeof check === 'string' && check !== 'ok');
  const status = isDegraded ? 'degraded' : 'ready';
  return { success: isReady, status: isReady ? status : 'not ready', checks };
}

/** The answer to `GET /health`: the process is alive; its dependencies are not checked. */
export function alive() {
  return { success: true, status: 'ok', timestamp: new Date().toISOString() };
}

export interface Starting {
  readonly readiness: Readiness;
  /** Records that Postgres did not answer when the process tried to start. */
  noteAway(): void;
  /** Records that the process waits for the end of a restore. */
  noteWaiting(reason: string): void;
}

/** The readiness of a process that has not reached its database yet. */
export function createStarting(): Starting {
  let isAway = false;
  let waitsFor: string | undefined;
  return {
    get readiness(): Readiness {
      if (waitsFor !== undefined) return { isReady: false, checks: { restore: waitsFor } };
      return { isReady: false, checks: { postgres: isAway ? 'is away' : 'was not asked yet' } };
    },
    noteAway() {
      isAway = true;
    },
    noteWaiting(reason) {
      waitsFor = reason;
    },
  };
}

type Answer = Parameters<RequestListener>[1];

export function sendJSON(response: Answer, status: number, body: object): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    ...(status === 503 && { 'retry-after': '1' }),
  });
  response.end(JSON.stringify(body));
}

/** Reads what tenants' database servers lack: workers write it at their start and every five minutes. */
async function requireTenantServers(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ what: string }>(
    `select distinct unnest(missing) as what from tenant_server where checked_at > now() - interval '15 minutes' order by 1`,
  );
  if (rows.length > 0)
    throw new AppError(
      'UNAVAILABLE',
      `a server of TENANT_DATABASES_URL lacks ${rows.map(({ what }) => what).join(', ')} (ops/tenant-server.sql)`,
    );
}

async function requireNoFault(described: Promise<string | undefined>): Promise<void> {
  const fault = await described;
  if (fault !== undefined) throw new AppError('UNAVAILABLE', fault);
}

/** `ok`, or the fault, without host names. */
async function within(check: Promise<void>, late = 'does not answer'): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(resolve, TIMEOUT_MS, late);
  check.then(
    () => resolve('ok'),
    (error: unknown) => resolve(error instanceof AppError ? error.message : 'is away'),
  );
  const answer = await promise;
  clearTimeout(timer);
  return answer;
}
