import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { openSecrets } from '#shared/core/schema/secret.ts';
import { type AnyDatasource, findDatasourceType } from '#shared/datasources/types/index.ts';
import type { Pool } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';
import type { Connection } from '../../connections/connection.ts';
import type { ConnectionCache } from '../../connections/connection-cache.ts';
import { connectorOf } from '../connectors/index.ts';
import type { OutboundServices } from '../connectors/outbound-services.ts';

/** A datasource by its id, or by its type and options with secrets in clear. */
export type DatasourceRef =
  | { tenantID: string; datasourceID: string }
  | { tenantID: string; datasourceID: null; datasourceType: string; datasourceOptions: JsonObject };

/** Opens datasources of tenants, by id within the tenant and never otherwise. */
export interface Datasources {
  withConnection<T>(
    ref: DatasourceRef,
    work: (connection: Connection<AnyDatasource>, definition: AnyDatasource) => Promise<T>,
  ): Promise<T>;
  /** Opens a connection for a test alone: one that is open already says nothing about a password that has changed since. */
  test(ref: DatasourceRef, signal: AbortSignal): Promise<void>;
}

export interface DatasourceContext {
  pool: Pool;
  secrets: KeyRing;
  connectionCache: ConnectionCache;
  services: OutboundServices;
  logger: Logger;
}

export function createDatasources({
  pool,
  secrets,
  connectionCache,
  services,
  logger,
}: DatasourceContext): Datasources {
  async function readDatasource(
    tenantID: string,
    datasourceID: string,
  ): Promise<{ type: string; options: JsonObject }> {
    const { rows } = await ownRead(() =>
      pool.query<{ type: string; options: JsonObject }>(
        'select datasource_type as type, datasource_options as options from datasource where id = $1 and tenant_id = $2',
        [datasourceID, tenantID],
      ),
    );
    const [row] = rows;
    if (!row) throw new AppError('NOT_FOUND', 'Datasource not found');
    const context = sealedColumns.datasourceOptions.context(datasourceID);
    return { type: row.type, options: openSecrets(definitionOf(row.type).options, row.options, { secrets, context }) };
  }

  async function find(ref: DatasourceRef) {
    const { tenantID } = ref;
    const { type, options } =
      ref.datasourceID === null
        ? { type: ref.datasourceType, options: ref.datasourceOptions }
        : await readDatasource(tenantID, ref.datasourceID);
    const definition = definitionOf(type);
    const open = async () => {
      const parsed = requireValue(definition.options, options, ['datasourceOptions']);
      const connect = await connectorOf(definition);
      return await connect(parsed, { ...services, tenantID, logger });
    };
    return { type, options, definition, open };
  }

  return {
    async withConnection(ref, work) {
      const { tenantID, datasourceID } = ref;
      const { type, options, definition, open } = await find(ref);
      return await connectionCache.use({ tenantID, datasourceID, type, options }, open, (connection) =>
        work(connection, definition),
      );
    },
    async test(ref, signal) {
      const { type, options, open } = await find(ref);
      // As a datasource that is not stored, whose connections are not cached.
      const key = { tenantID: ref.tenantID, datasourceID: null, type, options };
      await connectionCache.use(key, open, (connection) => connection.test(signal));
    },
  };
}

export function definitionOf(type: string): AnyDatasource {
  const definition = findDatasourceType(type);
  if (!definition) throw invalidField('datasourceType', `there is no type "${type}"`);
  return definition;
}
