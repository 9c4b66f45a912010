import type { AnyDatasource } from '#shared/datasources/index.ts';
import type { Connection, Connector, ConnectorContext } from '../define.ts';
import { connectPostgresql } from './postgresql.ts';
import { connectRestapi } from './restapi.ts';

/** What each datasource type does. */
const connectors = {
  postgresql: connectPostgresql,
  restapi: connectRestapi,
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
