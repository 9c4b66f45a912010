import { runSync } from '#shared/concurrency/cooperative.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { bindQuery } from '#shared/datasources/queries/bind.ts';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import type { AnyDatasource } from '#shared/datasources/types/index.ts';
import type { Connection, ExecuteOptions, QueryResult } from '#workers/connections/connection.ts';
import { connectorOf } from '#workers/datasources/connectors/index.ts';
import type { Files } from '#workers/datasources/files/files.ts';
import type { OAuthConnections } from '#workers/datasources/oauth/connections.ts';
import { createOutboundFetch } from '#workers/outbound/fetch.ts';
import { createOutbound, type Outbound } from '#workers/outbound/gate.ts';
import type { TenantDatabases } from '#workers/tenant-database/databases/databases.ts';
import { testLogger } from './environment.ts';

/** Allows loopback, where the servers of tests listen. */
export const openOutbound: Outbound = createOutbound({
  allow: [
    { address: '127.0.0.0', prefix: 8, family: 'ipv4' },
    { address: '::1', prefix: 128, family: 'ipv6' },
  ],
});

/** A datasource as a worker opens it, from options as a person would write them. */
export interface OpenedDatasource extends AsyncDisposable {
  readonly connection: Connection<AnyDatasource>;
  test(signal?: AbortSignal): Promise<void>;
  /** A query with its templates, and the values for them. */
  execute(query: JsonObject, inputs?: JsonObject, execute?: Partial<ExecuteOptions>): Promise<QueryResult>;
}

export async function openDatasource(
  definition: DatasourceDefinition,
  options: unknown,
  {
    outbound = openOutbound,
    tenantID = newID(),
    files = noFiles,
    tenantDatabases = noTenantDatabases,
    oauthConnections = noOAuthConnections,
  } = {},
): Promise<OpenedDatasource> {
  const known = definition as AnyDatasource;
  const connect = await connectorOf(known);
  const connection = await connect(definition.options.parse(options), {
    tenantID,
    outbound,
    fetch: createOutboundFetch(outbound),
    files,
    tenantDatabases,
    oauthConnections,
    syslogPorts: new Map(),
    logger: testLogger,
  });
  return {
    connection,
    test: (signal = AbortSignal.timeout(10_000)) => connection.test(signal),
    execute: (query, inputs = {}, run = {}) =>
      connection.execute(runSync(bindQuery(definition, query, inputs)) as never, {
        signal: AbortSignal.timeout(10_000),
        maxRows: 1_000,
        idempotencyKey: null,
        ...run,
      }),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

/** For types that read no files. */
export const noFiles: Files = {
  folder: '',
  read: () => Promise.reject(new Error('This datasource was opened without files')),
  [Symbol.asyncDispose]: async () => undefined,
};

/** For datasources without an OAuth connection. */
export const noOAuthConnections: OAuthConnections = {
  exchange: () => Promise.reject(new Error('This datasource was opened without OAuth connections')),
  accessToken: () => Promise.reject(new Error('This datasource was opened without OAuth connections')),
  revoke: () => Promise.reject(new Error('This datasource was opened without OAuth connections')),
  [Symbol.asyncDispose]: async () => undefined,
};

/** For types that have servers of their own. */
export const noTenantDatabases: TenantDatabases = {
  withConnection: () => Promise.reject(new Error('This datasource was opened without databases of tenants')),
  [Symbol.asyncDispose]: async () => undefined,
};
