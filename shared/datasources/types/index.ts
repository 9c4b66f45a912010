import type { DatasourceDefinition } from './define-datasource.ts';
import { duckdb } from './duckdb.ts';
import { excelcsv } from './excelcsv.ts';
import { graphql } from './graphql.ts';
import { imap } from './imap.ts';
import { mqtt } from './mqtt.ts';
import { mysql } from './mysql.ts';
import { nats } from './nats.ts';
import { postgresql } from './postgresql.ts';
import { presets } from './presets/index.ts';
import { rabbitmq } from './rabbitmq.ts';
import { redis } from './redis.ts';
import { restapi } from './restapi.ts';
import { s3 } from './s3.ts';
import { smtp } from './smtp.ts';
import { sqlite } from './sqlite.ts';
import { sse } from './sse.ts';
import { syslog } from './syslog.ts';
import { tenantdb } from './tenantdb.ts';
import { webhook } from './webhook.ts';
import { websocket } from './websocket.ts';

/** All datasource types. The table in `workers/datasources/connectors/index.ts` must contain each of them. */
export const datasources = [
  tenantdb,
  postgresql,
  mysql,
  redis,
  smtp,
  imap,
  excelcsv,
  duckdb,
  sqlite,
  nats,
  rabbitmq,
  mqtt,
  restapi,
  graphql,
  websocket,
  webhook,
  sse,
  syslog,
  s3,
  ...presets,
] as const satisfies readonly DatasourceDefinition[];

export type AnyDatasource = (typeof datasources)[number];

const byType = new Map<string, AnyDatasource>(datasources.map((definition) => [definition.type, definition]));

export function findDatasourceType(type: string): AnyDatasource | undefined {
  return byType.get(type);
}

/** Names of all types, for schemas and error messages. */
export const datasourceTypes: readonly string[] = [...byType.keys()];
