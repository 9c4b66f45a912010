import type { AnyDatasource } from '#shared/datasources/types/index.ts';
import { airtable } from '#shared/datasources/types/presets/airtable.ts';
import type { presets } from '#shared/datasources/types/presets/index.ts';
import { jira } from '#shared/datasources/types/presets/jira.ts';
import { notion } from '#shared/datasources/types/presets/notion.ts';
import { sendgrid } from '#shared/datasources/types/presets/sendgrid.ts';
import { slack } from '#shared/datasources/types/presets/slack.ts';
import { stripe } from '#shared/datasources/types/presets/stripe.ts';
import { twilio } from '#shared/datasources/types/presets/twilio.ts';
import type { Connection } from '../../connections/connection.ts';
import type { Connector, ConnectorContext } from './connector.ts';

/** The connector of each datasource type. It and its driver are loaded when the first datasource of the type is opened. */
const connectors = {
  tenantdb: async () => (await import('./tenantdb.ts')).connectTenantdb,
  nats: async () => (await import('./nats.ts')).connectNats,
  rabbitmq: async () => (await import('./rabbitmq/rabbitmq.ts')).connectRabbitmq,
  mqtt: async () => (await import('./mqtt/mqtt.ts')).connectMqtt,
  postgresql: async () => (await import('./postgresql.ts')).connectPostgresql,
  mysql: async () => (await import('./mysql/mysql.ts')).connectMySQL,
  excelcsv: async () => (await import('./excelcsv.ts')).connectExcelcsv,
  sqlite: async () => (await import('./sqlite.ts')).connectSqlite,
  duckdb: async () => (await import('./duckdb.ts')).connectDuckdb,
  redis: async () => (await import('./redis/redis.ts')).connectRedis,
  smtp: async () => (await import('./smtp/smtp.ts')).connectSmtp,
  imap: async () => (await import('./imap.ts')).connectImap,
  restapi: async () => (await import('./restapi.ts')).connectRestapi,
  graphql: async () => (await import('./graphql.ts')).connectGraphql,
  webhook: async () => (await import('./webhook.ts')).connectWebhook,
  syslog: async () => (await import('./syslog.ts')).connectSyslog,
  sse: async () => (await import('./sse.ts')).connectSse,
  websocket: async () => (await import('./websocket.ts')).connectWebsocket,
  s3: async () => (await import('./s3/s3.ts')).connectS3,
  airtable: preset(airtable),
  stripe: preset(stripe),
  twilio: preset(twilio),
  sendgrid: preset(sendgrid),
  slack: preset(slack),
  notion: preset(notion),
  jira: preset(jira),
} satisfies { [D in AnyDatasource as D['type']]: () => Promise<Connector<D>> };

function preset<D extends (typeof presets)[number]>(definition: D): () => Promise<Connector<D>> {
  return async () => (await import('./preset.ts')).presetConnector(definition);
}

type ErasedConnector = (
  options: unknown,
  context: ConnectorContext,
) => Promise<Connection<AnyDatasource>> | Connection<AnyDatasource>;

/** Loads the connector of a datasource type. */
export async function connectorOf({ type }: AnyDatasource): Promise<ErasedConnector> {
  // The options have been parsed by the type's own schema, which is what the connector's type asks for.
  return (await connectors[type]()) as unknown as ErasedConnector;
}
