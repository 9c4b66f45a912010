import { setTimeout as sleep } from 'node:timers/promises';
import { creatorOf } from '#shared/concurrency/dynamic-limit.ts';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { flowOf } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Pool } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';
import { type ConnectionPool, type ConnectionSource, createConnectionPool } from '../../connections/connection-pool.ts';
import { openPostgresConnection, type PostgresConnection } from '../../connections/postgresql/connection.ts';
import { readably } from '../../connections/postgresql/errors.ts';
import type { Outbound } from '../../outbound/gate.ts';
import { noConnectionFree, openFairly, refusalOf } from '../servers/fair-open.ts';
import type { TenantServer, TenantServers } from '../servers/servers.ts';
import { dialOwn, endpointOfOwn, endpointOfURL } from './endpoints.ts';
import { beingMoved, type OwnDatabase, openDatabase, roleWhenFull } from './owner-role.ts';
import { createProvisioner } from './provision.ts';
import { dropAsOwner } from './quota.ts';

/** The databases of tenants: the one a tenant has configured, else one that is created when the tenant first needs it. */
export interface TenantDatabases extends AsyncDisposable {
  /**
   * Checks out a clean connection for this work. When the signal aborts, the running statement is cancelled at the server. A statement that the
   * server refuses is thrown as DB_ERROR, and a lost connection as UPSTREAM_FAILED.
   */
  withConnection<T>(
    tenantID: string,
    signal: AbortSignal,
    work: (connection: PostgresConnection) => Promise<T>,
  ): Promise<T>;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  outbound: Outbound;
  servers: TenantServers;
}

/** Limit for one tenant in one worker process. */
const MAX_CONNECTIONS = 5;
const MAX_WAITING_PER_CONNECTION = 20;
/** Databases that this process creates at once. */
const MAX_PROVISIONED = 2;
/** Pause between two reads of the row of a database that is being moved. */
const MOVING_MS = 200;

interface Row {
  tenant_db_url: string | null;
  id: string | null;
  server: string;
  database_name: string;
  role_name: string;
  password: string;
  /** Null if the tenant has no database yet. */
  moving: boolean | null;
  is_full: boolean | null;
}

/** Permits that a flow needs on a server. */
interface Demand {
  /** Whether there are enough permits once connections of these flows are closed. */
  isEnough(closing: readonly FlowKey[]): boolean;
  flow: FlowKey;
  /** Connections of other creators that may be closed although they are in constant use. */
  maxRecent: number;
}

/** An idle connection that was used within this time counts as in constant use. */
const RECENT_MS = 1_000;

interface IdleConnection {
  connections: ConnectionPool<PostgresConnection>;
  flow: FlowKey;
  since: number;
}

export function createTenantDatabases({ pool, secrets, outbound, servers }: Needs): TenantDatabases {
  const provisioner = createProvisioner({ pool, secrets, servers });
  const provisioning = createSemaphore({
    permits: MAX_PROVISIONED,
    maxWaiting: MAX_PROVISIONED * MAX_WAITING_PER_CONNECTION,
  });
  /** Tenants whose databases were over their quota when they were last used. */
  const full = new Set<string>();
  const byTenant = new Map<string, ConnectionPool<PostgresConnection>>();
  /** Server of each tenant whose database Gantry has created, and the flow that its connections there count for. */
  const serverOf = new Map<string, { name: string; flow: FlowKey }>();
  const { contention } = servers;
  const unsubscribe = contention.onAnnounced((server) => {
    for (const { connections } of idleOn(server)) connections.closeOldest();
  });

  function connectionsOf(tenantID: string): ConnectionPool<PostgresConnection> {
    const known = byTenant.get(tenantID);
    if (known) return known;
    const connections = createConnectionPool<PostgresConnection>({
      where: "the tenant's database",
      find: (signal) => findSource(tenantID, signal),
      maxConnections: MAX_CONNECTIONS,
      maxWaitingPerConnection: MAX_WAITING_PER_CONNECTION,
      onEmpty() {
        byTenant.delete(tenantID);
        serverOf.delete(tenantID);
      },
    });
    byTenant.set(tenantID, connections);
    return connections;
  }

  async function findSource(tenantID: string, signal: AbortSignal): Promise<ConnectionSource<PostgresConnection>> {
    const row = await findRow(tenantID, signal);
    if (!row) throw new AppError('NOT_FOUND', 'Tenant not found');
    if (row.tenant_db_url !== null) return configuredSource(tenantID, row.tenant_db_url);
    if (row.id === null) return ownSource(tenantID, await provide(tenantID, signal));
    if (row.is_full) full.add(tenantID);
    else full.delete(tenantID);
    return ownSource(
      tenantID,
      await openDatabase({ ...row, id: row.id }, { pool, secrets, servers }),
      row.is_full ?? false,
    );
  }

  /** Reads the row of the tenant and its database; waits while the database is moved to another server. */
  async function findRow(tenantID: string, signal: AbortSignal): Promise<Row | undefined> {
    for (;;) {
      const { rows } = await ownRead(() => pool.query<Row>(FIND_SOURCE, [tenantID]));
      const [row] = rows;
      if (!row?.moving) return row;
      await sleep(MOVING_MS);
      if (signal.aborted) throw beingMoved();
    }
  }

  function configuredSource(tenantID: string, sealed: string): ConnectionSource<PostgresConnection> {
    const url = () =>
      secrets.open(sealed, sealedColumns.tenantDBURL.context(tenantID), "The URL of the tenant's database");
    return { key: sealed, open: (signal) => openPostgresConnection(endpointOfURL(url()), outbound.connect, signal) };
  }

  /** Creates a database, a few at a time: each occupies one of the worker's own connections while it waits for the server. */
  async function provide(tenantID: string, signal: AbortSignal): Promise<OwnDatabase> {
    const release = await provisioning.acquirePermit(flowOf(tenantID), signal);
    if (!release)
      throw new AppError(
        'UPSTREAM_TIMEOUT',
        "The tenant's database could not be created in time; nothing was changed",
        {
          cause: signal.reason,
          details: { begun: false },
        },
      );
    try {
      return await provisioner.provide(tenantID);
    } finally {
      release();
    }
  }

  function ownSource(tenantID: string, owned: OwnDatabase, isFull = false): ConnectionSource<PostgresConnection> {
    const server = servers.get(owned.server);
    const database = isFull ? { ...owned, roleName: roleWhenFull(owned.roleName) } : owned;
    const flow = flowOf(tenantID);
    serverOf.set(tenantID, { name: server.name, flow });
    const open = async (signal: AbortSignal) => {
      await server.ready(signal);
      return await openPostgresConnection(endpointOfOwn(server.url, database), dialOwn, signal);
    };
    const openRestoringPassword = async (signal: AbortSignal): Promise<PostgresConnection> => {
      try {
        return await open(signal);
      } catch (error) {
        if (refusalOf(error) !== 'authentication') throw error;
        await provisioner.restorePassword(database);
        return await open(signal);
      }
    };
    return {
      key: `${database.id} ${database.server} ${database.roleName}`,
      isContended: () => contention.isContended(server.name) || mustYield(server, flow),
      async open(signal) {
        const release = await acquirePermit(server, flow, signal);
        try {
          const connection = await openFairly(contention, {
            server: server.name,
            flow,
            signal,
            open: openRestoringPassword,
          });
          servers.connections.track(connection, server, database.roleName);
          connection.driver.once('end', release);
          if (isFull)
            connection.dropAsOwner = async (sql) => dropAsOwner(server, owned, { sql, ...(await pathOf(connection)) });
          return connection;
        } catch (error) {
          release();
          throw error;
        }
      },
    };
  }

  /** Waits until this process may open one more connection to the server; an idle one is closed for it. */
  async function acquirePermit(
    { name, permits }: TenantServer,
    flow: FlowKey,
    signal: AbortSignal,
  ): Promise<() => void> {
    const isEnough = (closing: readonly FlowKey[]) => permits.canAcquire(flow, closing);
    closeIdleUntil(name, { isEnough, flow, maxRecent: 1 });
    const release = await permits.acquirePermit(flow, signal);
    if (release) return release;
    throw noConnectionFree(signal.reason);
  }

  /** Whether a returned connection is to be closed so that waiting work can begin; perhaps idle ones of others must be closed, too. */
  function mustYield({ name, permits }: TenantServer, flow: FlowKey): boolean {
    const isEnough = (closing: readonly FlowKey[]) => permits.hasWaiterFor([flow, ...closing]);
    return permits.waiting > 0 && closeIdleUntil(name, { isEnough, flow, maxRecent: 0 });
  }

  /**
   * Closes as many idle connections as are needed to have enough permits, those of the flow's creator first; none if all of them would
   * not suffice. One may not suffice when a creator has used up its share. Returns whether there are enough permits, or will be once the
   * connections are closed. Of other creators' connections in constant use at most `maxRecent` are closed, because they would be opened
   * again at once.
   */
  function closeIdleUntil(server: string, { isEnough, flow, maxRecent }: Demand): boolean {
    if (isEnough([])) return true;
    const idle = idleOn(server);
    const ofCreator = (idleConnection: IdleConnection) => creatorOf(idleConnection.flow) === creatorOf(flow);
    const usedBefore = performance.now() - RECENT_MS;
    const others = idle
      .filter((idleConnection) => !ofCreator(idleConnection))
      .filter(({ since }, at) => at < maxRecent || since < usedBefore);
    const inOrder = [...idle.filter(ofCreator), ...others];
    const flows = inOrder.map((idleConnection) => idleConnection.flow);
    const needed = inOrder.findIndex((_, at) => isEnough(flows.slice(0, at + 1))) + 1;
    for (const { connections } of inOrder.slice(0, needed)) connections.closeOldest();
    return needed > 0;
  }

  /** Idle connections to a server, the oldest first. */
  function idleOn(server: string): IdleConnection[] {
    const idle = [...byTenant].flatMap(([tenantID, connections]) => {
      const { name, flow } = serverOf.get(tenantID) ?? {};
      if (name !== server || !flow) return [];
      return connections.idleSince.map((since) => ({ connections, flow, since }));
    });
    return idle.toSorted((a, b) => a.since - b.since);
  }

  return {
    async withConnection(tenantID, signal, work) {
      try {
        return await connectionsOf(tenantID).withConnection(signal, readably(work));
      } catch (error) {
        throw full.has(tenantID) && isDenied(error) ? overQuota(error, servers.maxBytes) : error;
      }
    },
    async [Symbol.asyncDispose]() {
      unsubscribe();
      await Promise.all([...byTenant.values()].map((connections) => connections[Symbol.asyncDispose]()));
    },
  };
}

async function pathOf({ query }: PostgresConnection): Promise<{ searchPath: string }> {
  const { rows } = await query<{ searchPath: string }>(
    `select pg_catalog.current_setting('search_path') as "searchPath"`,
  );
  return { searchPath: rows[0]?.searchPath ?? '' };
}

function isDenied(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  return (error.details as { postgres_code?: string } | undefined)?.postgres_code === '42501';
}

function overQuota(denied: AppError, maxBytes: number): AppError {
  return new AppError(
    'QUOTA_EXCEEDED',
    `${denied.message}: the database takes more than ${maxBytes} bytes. Rows can be deleted, tables truncated, and objects dropped one at a time; the operator of this service sets the limit`,
    { cause: denied, details: denied.details, reason: 'databaseBytes' },
  );
}

const FIND_SOURCE = `
select t.tenant_db_url, d.id, d.server, d.database_name, d.role_name, d.password,
  d.moving_until > clock_timestamp() as moving, d.full_since is not null as is_full
from tenant t left join tenant_database d on d.tenant_id = t.id and d.ready_at is not null
where t.id = $1 and t.deleting_at is null`;
