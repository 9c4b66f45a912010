import { expect, test } from 'vitest';
import { sqlWrite } from '#shared/datasources/fields/sql-writes.ts';
import { type AnyDatasource, datasources } from '#shared/datasources/types/index.ts';

/** Queries by type: those that read, and those that write with what a dry run calls them. The compiler refuses a table without a type. */
const queries: Readonly<Record<AnyDatasource['type'], { reads: object[]; writes: [object, string][] }>> = {
  postgresql: { reads: [{ query: 'select 1' }], writes: [[{ query: ' delete  from t' }, 'delete from t']] },
  mysql: {
    reads: [{ query: 'show tables' }],
    writes: [[{ query: 'replace into t values (1)' }, 'replace into t values (1)']],
  },
  tenantdb: { reads: [{ query: 'table t' }], writes: [[{ query: 'truncate t' }, 'truncate t']] },
  sqlite: { reads: [{ query: 'select 1' }], writes: [] },
  duckdb: { reads: [{ query: 'select 1' }], writes: [] },
  syslog: { reads: [{}], writes: [] },
  imap: { reads: [{}], writes: [] },
  sse: { reads: [{}], writes: [] },
  webhook: { reads: [{}], writes: [] },
  excelcsv: { reads: [{}], writes: [] },
  restapi: {
    reads: [{ apiEndpoint: '/a' }, { apiEndpoint: '/a', method: 'HEAD' }],
    writes: [[{ apiEndpoint: '/a', method: 'PATCH' }, 'PATCH /a']],
  },
  graphql: {
    reads: [{ query: '{ a }' }],
    writes: [
      [{ query: 'mutation pay { a }', operationType: 'mutation', operationName: 'pay' }, 'mutation pay'],
      [{ query: 'mutation { a }', operationType: 'mutation' }, 'mutation'],
    ],
  },
  websocket: { reads: [], writes: [[{ message: {} }, 'a message']] },
  redis: {
    reads: [{ operation: 'get', key: 'a' }, { operation: 'keys' }, { operation: 'xrange', key: 'a' }],
    writes: [
      [{ operation: 'set', key: 'a', value: 1 }, 'set a'],
      [{ operation: 'lpop', key: 'a' }, 'lpop a'],
      [{ operation: 'publish', channel: 'c', value: 1 }, 'publish c'],
    ],
  },
  s3: {
    reads: [{ operation: 'listObjects' }, { operation: 'getObject', key: 'k' }, { operation: 'headObject', key: 'k' }],
    writes: [
      [{ operation: 'putObject', key: 'k' }, 'putObject k'],
      [{ operation: 'deleteObject', key: 'k' }, 'deleteObject k'],
    ],
  },
  smtp: {
    reads: [],
    writes: [[{ to: ['a@example.test', 'b@example.test'] }, 'a mail to a@example.test, b@example.test']],
  },
  nats: {
    reads: [],
    writes: [
      [{ operation: 'publish', subject: 's' }, 'publish s'],
      [{ operation: 'request', subject: 's' }, 'request s'],
    ],
  },
  rabbitmq: {
    reads: [
      { operation: 'peek', queue: 'q' },
      { operation: 'getQueueInfo', queue: 'q' },
    ],
    writes: [
      [{ operation: 'consume', queue: 'q' }, 'consume q'],
      [{ operation: 'publish', exchange: 'x' }, 'publish x'],
      [{ operation: 'purge', queue: 'q' }, 'purge q'],
    ],
  },
  mqtt: {
    reads: [{ operation: 'read', topic: 'a/b' }],
    writes: [[{ operation: 'publish', topic: 'a/b', message: '' }, 'publish a/b']],
  },
  airtable: {
    reads: [{ operation: 'list', baseId: 'b', tableName: 't' }],
    writes: [],
  },
  stripe: { reads: [{ resource: 'customers', operation: 'list' }], writes: [] },
  twilio: { reads: [], writes: [] },
  sendgrid: { reads: [], writes: [] },
  slack: {
    reads: [{ resource: 'channels', operation: 'list' }],
    writes: [[{ resource: 'messages', operation: 'post', channelId: 'c', message: 'm' }, 'messages.post']],
  },
  notion: { reads: [], writes: [] },
  jira: { reads: [], writes: [] },
};

test.each(datasources.map((definition) => [definition.type, definition] as const))(
  'queries of %s that write are told from those that read',
  (type, definition: { query: { parse(value: unknown): unknown }; writes(query: never): string | null }) => {
    const { reads, writes } = queries[type];
    const writeOf = (query: object) => definition.writes(definition.query.parse(query) as never);

    expect(reads.map(writeOf)).toEqual(reads.map(() => null));
    expect(writes.map(([query]) => writeOf(query))).toEqual(writes.map(([, name]) => name));
  },
);

test.each([
  ['select 1', null],
  ['-- a\n /* select */ ( SELECT 1)', null],
  ['with a as (select 1) select * from a', null],
  ['/* select */ drop table t', '/* select */ drop table t'],
  ['/*!drop table t -- */ select 1', '/*!drop table t -- */ select 1'],
  ['', ''],
  ['/* open', '/* open'],
  [`insert ${'x'.repeat(300)}`, `insert ${'x'.repeat(193)}…`],
])('the statement %s writes: %s', (query, write) => {
  expect(sqlWrite({ query })).toBe(write);
});
