import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '#shared/config.ts';
import type { KeyRing } from '#shared/crypto.ts';
import type { Pool } from '#shared/db/pool.ts';
import { AppError } from '#shared/errors.ts';
import { createLanes } from '#shared/lanes.ts';
import type { Logger } from '#shared/logger.ts';
import { sealedColumns } from '#shared/sealed-columns.ts';
import { unlessAborted } from '#shared/unless-aborted.ts';
import type { Outbound } from '../outbound.ts';
import { cancelQuery } from './cancel.ts';
import { toDatabaseError } from './errors.ts';
import { createIdleConnections } from './idle.ts';
import { openOwnDatabase, openTenantDatabase, type TenantClient } from './open.ts';
import { createProvisioner, type OwnDatabase } from './provision.ts';
import { prepareSession, resetSession } from './session.ts';

/** The databases of tenants: the one a tenant has brought, else the one it is given here the first time it needs one. */
export interface TenantDatabases extends AsyncDisposable {
  /**
   * Lends a connection, clean and for this work alone. When the signal aborts, the server is told to stop; what the server says
   * no to is thrown as DB_ERROR, and a lost connection as UPSTREAM_FAILED.
   */
  use<T>(tenantID: string, signal: AbortSignal, work: (client: TenantClient) => Promise<T>): Promise<T>;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  outbound: Outbound;
  logger: Logger;
  config: Config['tenantDatabases'];
}

/** Of one tenant, in one worker process. */
const MOST_CONNECTIONS = 5;
const MOST_PROVISIONED = 2;
const IDLE_MS = 30_000;
/** How long an aborted statement has to end before its connection is cut. */
const CANCEL_MS = 1_000;
const RESET_MS = 2_000;

interface Source {
  /** Another database has another. */
  key: string;
  open(signal: AbortSignal): Promise<TenantClient>;
}

interface Row {
  tenant_db_url: string | null;
  id: string | null;
  database_name: string;
  role_name: string;
  password: string;
}

export function createTenantDatabases({ pool, secrets, outbound, logger, config }: Needs): TenantDatabases {
  const provisioner = createProvisioner({ pool, secrets, config });
  const lanes = createLanes();
  const idle = createIdleConnections(IDLE_MS);

  async function findSource(tenantID: string, signal: AbortSignal): Promise<Source> {
    const { rows } = await pool.query<Row>(FIND_SOURCE, [tenantID]);
    const [row] = rows;
    if (!row) throw new AppError('NOT_FOUND', 'Tenant not found');
    const sealed = row.tenant_db_url;
    if (sealed !== null)
      return {
        key: sealed,
        open: (signal) =>
          openTenantDatabase(secrets.open(sealed, sealedColumns.tenantDBURL.context(tenantID)), { outbound, signal }),
      };
    return ownSource(row.id === null ? await provide(tenantID, signal) : openRow({ ...row, id: row.id }));
  }

  /** A few at a time: each holds one of the worker's own connections while it waits for the server. */
  async function provide(tenantID: string, signal: AbortSignal): Promise<OwnDatabase> {
    const leave = await lanes.enter('provisioning', MOST_PROVISIONED, signal);
    if (!leave) throw signal.reason;
    try {
      return await provisioner.provide(tenantID);
    } finally {
      leave();
    }
  }

  function openRow({ id, database_name, role_name, password }: Row & { id: string }): OwnDatabase {
    return {
      id,
      databaseName: database_name,
      roleName: role_name,
      password: secrets.open(password, sealedColumns.tenantDatabasePassword.context(id)),
    };
  }

  function ownSource(database: OwnDatabase): Source {
    const open = (signal: AbortSignal) => openOwnDatabase(config.serverURL, database, signal);
    return {
      key: database.id,
      open: (signal) =>
        open(signal).catch(async (error: unknown) => {
          if (!isWrongPassword(error)) throw error;
          await provisioner.restorePassword(database);
          return open(signal);
        }),
    };
  }

  async function checkOut(tenantID: string, signal: AbortSignal): Promise<{ client: TenantClient; key: string }> {
    const source = await findSource(tenantID, signal);
    for (;;) {
      const kept = idle.take(tenantID, source.key);
      const client = kept ?? (await source.open(signal));
      try {
        await unlessAborted(signal, prepareSession(client));
        return { client, key: source.key };
      } catch (error) {
        client.connection.stream.destroy();
        // One that has waited here for long may be gone, and nothing was done with it yet.
        if (!kept || signal.aborted) throw toDatabaseError(error);
      }
    }
  }

  /** Back among the idle when it is as new, else closed. */
  async function checkIn(tenantID: string, key: string, client: TenantClient): Promise<void> {
    const isClean = await Promise.race([
      resetSession(client).then(
        () => true,
        () => false,
      ),
      sleep(RESET_MS, false, { ref: false }),
    ]);
    if (isClean) idle.keep(tenantID, key, client);
    else client.connection.stream.destroy();
  }

  async function use<T>(tenantID: string, signal: AbortSignal, work: (client: TenantClient) => Promise<T>): Promise<T> {
    const leave = await lanes.enter(tenantID, MOST_CONNECTIONS, signal);
    if (!leave) throw signal.reason;
    let returned: Promise<void> | undefined;
    try {
      const { client, key } = await checkOut(tenantID, signal);
      try {
        return await untilAborted(client, signal, work(client));
      } catch (error) {
        throw signal.aborted ? signal.reason : toDatabaseError(error);
      } finally {
        // A cancel that comes late would hit whatever the connection does next.
        if (signal.aborted) client.connection.stream.destroy();
        else returned = checkIn(tenantID, key, client);
      }
    } finally {
      if (returned)
        returned.catch((error) => logger.warn({ err: error }, 'a connection was not given back')).finally(leave);
      else leave();
    }
  }

  return {
    use,
    [Symbol.asyncDispose]: () => idle[Symbol.asyncDispose](),
  };
}

/** The work, which the server is told to stop when the signal aborts; a server that does not listen is hung up on. */
async function untilAborted<T>(client: TenantClient, signal: AbortSignal, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    cancelQuery(client);
    timer = setTimeout(() => client.connection.stream.destroy(), CANCEL_MS);
  };
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

function isWrongPassword(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  return (error.details as { reason?: string } | undefined)?.reason === 'authentication';
}

const FIND_SOURCE = `
select t.tenant_db_url, d.id, d.database_name, d.role_name, d.password
from tenant t left join tenant_database d on d.tenant_id = t.id and d.ready_at is not null
where t.id = $1 and t.deleting_at is null`;
