import type { AnyDatasource } from '#shared/datasources/index.ts';
import type { Connection, Connector, ConnectorContext } from '../define.ts';
import { connectDuckdb } from './duckdb.ts';
import { connectExcelcsv } from './excelcsv.ts';
import { connectMySQL } from './mysql.ts';
import { connectNats } from './nats.ts';
import { connectPostgresql } from './postgresql.ts';
import { connectRedis } from './redis.ts';
import { connectSmtp } from './smtp.ts';
import { connectSqlite } from './sqlite.ts';

/** What each datasource type does. */
const connectors = {
  nats: connectNats,
  postgresql: connectPostgresql,
  mysql: connectMySQL,
  excelcsv: connectExcelcsv,
  sqlite: connectSqlite,
  duckdb: connectDuckdb,
  redis: connectRedis,
  smtp: connectSmtp,
} satisfies { [D in AnyDatasource as D['type']]: Connector<D> };

type ErasedConnector = (
  options: unknown,
  context: ConnectorContext,
) => Promise<Connection<AnyDatasource>> | Connection<AnyDatasource>;

/** What opens a datasource of this type. */
export function connectorOf({ type }: AnyDatasource): ErasedConnector {
  // The options have been parsed by the type's own schema, which is what the connector's type asks for.
  return connectors[type] as unknown as ErasedConnector;
}
