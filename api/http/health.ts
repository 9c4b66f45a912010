import type { RequestHandler } from 'express';
import { requireSchema } from '#shared/db/schema.ts';
import { AppError } from '#shared/errors.ts';
import type { ApiContext } from '../context.ts';

/** The process is alive; its dependencies are not checked. */
export const health: RequestHandler = (_request, response) => {
  response.json({ success: true, status: 'ok', timestamp: new Date().toISOString() });
};

const patienceMs = 2_000;

/** Whether this process can serve requests: its dependencies answer, and it is not stopping. */
export function readiness({
  pool,
  backplane,
  draining,
}: Pick<ApiContext, 'pool' | 'backplane' | 'draining'>): RequestHandler {
  return async (_request, response) => {
    const [postgres, queue, tenantDatabases] = await Promise.all([
      within(requireSchema(pool)),
      within(backplane.ping()),
      within(requireTenantServers(pool)),
    ]);
    // What the servers of tenants lack limits those tenants, and keeps no request from the others.
    const checks = { postgres, backplane: queue, tenantDatabases, draining: draining.aborted };
    const isReady = postgres === 'ok' && queue === 'ok' && !draining.aborted;
    response.status(isReady ? 200 : 503).json({ success: isReady, status: isReady ? 'ready' : 'not ready', checks });
  };
}

/** Workers write what the servers lack, at their start and every five minutes. */
async function requireTenantServers(pool: ApiContext['pool']): Promise<void> {
  const { rows } = await pool.query<{ what: string }>(
    `select distinct unnest(missing) as what from tenant_server where checked_at > now() - interval '15 minutes' order by 1`,
  );
  if (rows.length > 0)
    throw new AppError(
      'UNAVAILABLE',
      `a server of TENANT_DATABASES_URL lacks ${rows.map(({ what }) => what).join(', ')} (ops/tenant-server.sql)`,
    );
}

/** `ok`, or the fault, without host names. */
async function within(check: Promise<void>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(resolve, patienceMs, 'does not answer');
  check.then(
    () => resolve('ok'),
    (error: unknown) => resolve(error instanceof AppError ? error.message : 'is away'),
  );
  const answer = await promise;
  clearTimeout(timer);
  return answer;
}
