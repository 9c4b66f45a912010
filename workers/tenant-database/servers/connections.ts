import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';

interface Server {
  readonly name: string;
  readonly admin: Pool;
}

/**
 * The connections of this process to databases of tenants. They are reported to the other workers, which end connections that no worker
 * reports: a statement of a tenant can outlive its request, by catching the cancel and switching off its own time limits.
 */
export interface OpenConnections extends AsyncDisposable {
  /** Reports the connection while it is open. If it does not obey a cancel in time, it is terminated. */
  track(connection: PostgresConnection, server: Server, role: string): void;
  /** Whether the reports of the last minute arrived, so that those of other workers can be expected to be complete. */
  readonly isSteady: boolean;
  /** Reports, which happens every ten seconds otherwise. */
  reportNow(): Promise<void>;
}

const REPORT_MS = 10_000;
const STEADY_MS = 60_000;
/** How long a backend may take to obey a cancel. */
const CANCEL_GRACE_MS = 2_000;

export function createOpenConnections({ pool, logger }: { pool: Pool; logger: Logger }): OpenConnections {
  const reporterID = newID();
  const byServer = new Map<string, Set<number>>();
  let steadySince = Number.POSITIVE_INFINITY;
  let running = report();
  const timer = setInterval(() => {
    running = report();
  }, REPORT_MS).unref();

  async function report(): Promise<void> {
    const backends = Object.fromEntries([...byServer].map(([server, pids]) => [server, [...pids]]));
    try {
      await pool.query(REPORT, [reporterID, JSON.stringify(backends)]);
      steadySince = Math.min(steadySince, Date.now());
    } catch (error) {
      steadySince = Number.POSITIVE_INFINITY;
      logger.debug({ err: error }, 'open connections to databases of tenants could not be reported');
    }
  }

  return {
    reportNow: report,
    get isSteady() {
      return Date.now() - steadySince >= STEADY_MS;
    },
    track(connection, server, role) {
      // The driver sets `processID` at sign-in; its types do not have it.
      const { processID: pid } = connection.driver as unknown as { processID: number };
      const pids = byServer.get(server.name) ?? new Set();
      byServer.set(server.name, pids.add(pid));
      connection.driver.once('end', () => pids.delete(pid));
      const cancel = connection.cancel.bind(connection);
      connection.cancel = async () => {
        void endUnlessObeyed(server, { pid, role }, logger);
        await cancel();
      };
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
      await pool.query('delete from tenant_connection where process = $1', [reporterID]).catch(() => undefined);
    },
  };
}

async function endUnlessObeyed(
  { admin }: Server,
  { pid, role }: { pid: number; role: string },
  logger: Logger,
): Promise<void> {
  await sleep(CANCEL_GRACE_MS, undefined, { ref: false });
  try {
    // The number may belong to another connection by now, though seldom to one of the same role.
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and usename = $2', [
      pid,
      role,
    ]);
  } catch (error) {
    logger.debug({ err: error, pid }, 'a cancelled connection is left to the sweep');
  }
}

const REPORT = `
insert into tenant_connection (process, backends) values ($1, $2)
on conflict (process) do update set backends = excluded.backends, written_at = now()`;
