import type { AnyDatasource } from '#shared/datasources/index.ts';
import { airtable } from '#shared/datasources/presets/airtable.ts';
import { jira } from '#shared/datasources/presets/jira.ts';
import { notion } from '#shared/datasources/presets/notion.ts';
import { sendgrid } from '#shared/datasources/presets/sendgrid.ts';
import { slack } from '#shared/datasources/presets/slack.ts';
import { stripe } from '#shared/datasources/presets/stripe.ts';
import { twilio } from '#shared/datasources/presets/twilio.ts';
import type { Connection } from '../connections/connection.ts';
import type { Connector, ConnectorContext } from './connector.ts';
import { connectDuckdb } from './duckdb.ts';
import { connectExcelcsv } from './excelcsv.ts';
import { connectGraphql } from './graphql.ts';
import { connectMqtt } from './mqtt/mqtt.ts';
import { connectMySQL } from './mysql/mysql.ts';
import { connectNats } from './nats.ts';
import { connectPostgresql } from './postgresql.ts';
import { presetConnector } from './preset.ts';
import { connectRabbitmq } from './rabbitmq/rabbitmq.ts';
import { connectRedis } from './redis.ts';
import { connectRestapi } from './restapi.ts';
import { connectS3 } from './s3/s3.ts';
import { connectSmtp } from './smtp/smtp.ts';
import { connectSqlite } from './sqlite.ts';
import { connectTenantdb } from './tenantdb.ts';
import { connectWebsocket } from './websocket.ts';

/** What each datasource type does. */
const connectors = {
  tenantdb: connectTenantdb,
  nats: connectNats,
  rabbitmq: connectRabbitmq,
  mqtt: connectMqtt,
  postgresql: connectPostgresql,
  mysql: connectMySQL,
  excelcsv: connectExcelcsv,
  sqlite: connectSqlite,
  duckdb: connectDuckdb,
  redis: connectRedis,
  smtp: connectSmtp,
  restapi: connectRestapi,
  graphql: connectGraphql,
  websocket: connectWebsocket,
  s3: connectS3,
  airtable: presetConnector(airtable),
  stripe: presetConnector(stripe),
  twilio: presetConnector(twilio),
  sendgrid: presetConnector(sendgrid),
  slack: presetConnector(slack),
  notion: presetConnector(notion),
  jira: presetConnector(jira),
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
