import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readOptions } from '#api/resources/datasources/options.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { MASK, maskSecrets } from '#shared/core/schema/secret.ts';
import { datasources, findDatasourceType } from '#shared/datasources/types/index.ts';

interface Case {
  options: JsonObject;
  /** Another value of each part of the address, by path. */
  addresses: Record<string, string | number | boolean>;
  /** The secrets that must be given again. */
  secrets: string[];
}

const login = { host: 'a.example.com', port: 1000, user: 'u', password: 'p' };
const detailed = (more: JsonObject) => ({
  connectionOption: 'connectionDetails',
  connectionDetails: { ...login, ...more },
});
const moved = { 'connectionDetails.host': 'b.example.com', 'connectionDetails.port': 1001 };
const password = ['connectionDetails.password'];

const cases: Record<string, Case> = {
  postgresql: {
    options: detailed({ database: 'd' }),
    addresses: { ...moved, 'connectionDetails.sslMode': 'disable' },
    secrets: password,
  },
  mysql: {
    options: detailed({ database: 'd' }),
    addresses: { ...moved, 'connectionDetails.ssl': true },
    secrets: password,
  },
  redis: { options: detailed({}), addresses: { ...moved, 'connectionDetails.tls': true }, secrets: password },
  rabbitmq: { options: detailed({}), addresses: { ...moved, 'connectionDetails.ssl': true }, secrets: password },
  smtp: {
    options: { ...login, from: 'a@example.com' },
    addresses: { host: 'b.example.com', port: 1001, security: 'none' },
    secrets: ['password'],
  },
  imap: {
    options: login,
    addresses: { host: 'b.example.com', port: 1001, security: 'none' },
    secrets: ['password'],
  },
  nats: {
    options: { servers: 'a.example.com', token: 't', user: 'u', pass: 'p' },
    addresses: { servers: 'a.example.com,b.example.com', useTLS: true },
    secrets: ['token', 'pass'],
  },
  mqtt: {
    options: { brokerUrl: 'mqtts://a.example.com', username: 'u', password: 'p' },
    addresses: { brokerUrl: 'mqtt://a.example.com', useTLS: true },
    secrets: ['password'],
  },
  restapi: {
    options: {
      baseUrl: 'https://a.example.com/v1',
      bearerToken: 't',
      oauth2: { clientSecret: 's', tokenUrl: 'https://a.example.com/token' },
      headers: [{ key: 'x-key', value: 'v' }],
    },
    addresses: { baseUrl: 'http://a.example.com/v1', 'oauth2.tokenUrl': 'https://b.example.com/token' },
    secrets: ['bearerToken', 'oauth2.clientSecret', 'headers.0.value'],
  },
  graphql: {
    options: { endpoint: 'https://a.example.com', apiKey: { value: 'k' }, basicAuth: { password: 'p' } },
    addresses: { endpoint: 'https://a.example.com:8443', subscriptionEndpoint: 'wss://b.example.com' },
    secrets: ['apiKey.value', 'basicAuth.password'],
  },
  websocket: {
    options: { url: 'wss://a.example.com', headers: [{ key: 'x-key', value: 'v' }] },
    addresses: { url: 'ws://a.example.com' },
    secrets: ['headers.0.value'],
  },
  sse: {
    options: { url: 'https://a.example.com/events', headers: [{ key: 'x-key', value: 'v' }] },
    addresses: { url: 'https://b.example.com/events' },
    secrets: ['headers.0.value'],
  },
  s3: {
    options: { accessKeyId: 'AKIA', secretAccessKey: 's' },
    addresses: { endpoint: 'https://s3.example.com' },
    secrets: ['secretAccessKey'],
  },
  jira: {
    options: { host: 'a.atlassian.net', email: 'a@example.com', apiToken: 't' },
    addresses: { host: 'b.example.com' },
    secrets: ['apiToken'],
  },
  sendgrid: { options: { apiKey: 'k' }, addresses: { host: 'api.eu.sendgrid.com' }, secrets: ['apiKey'] },
};

/** Secrets of these go to an address that the type itself names, or they have none. */
const withoutAddress = 'tenantdb excelcsv duckdb sqlite stripe twilio slack notion airtable webhook syslog'.split(' ');

test('each datasource type is in one of the two lists, and each part of an address is declared', () => {
  expect([...Object.keys(cases), ...withoutAddress].sort()).toEqual(datasources.map(({ type }) => type).sort());
  for (const { type, options } of datasources) {
    const declared = destinationsIn(z.toJSONSchema(options, { io: 'input', unrepresentable: 'any' }) as Schema, []);
    expect(declared.sort(), type).toEqual(Object.keys(cases[type]?.addresses ?? {}).sort());
  }
});

describe.each(Object.entries(cases))('%s', (type, { options, addresses, secrets }) => {
  const stored = readOptions(type, options);
  const schema = findDatasourceType(type)?.options ?? z.never();
  const masked = maskSecrets(schema, stored);

  test('keeps its secrets while the address stays', () => {
    expect(readOptions(type, masked, stored)).toEqual(stored);
    // A mask that is left out in part does not move the address either: its default is the stored value.
    expect(readOptions(type, { ...options, ...pick(masked, Object.keys(options)) }, stored)).toEqual(stored);
  });

  test.each(Object.entries(addresses))('keeps no secret when %s changes', (path, value) => {
    const next = withValue(masked, path.split('.'), value);
    const fault = faultOf(() => readOptions(type, next, stored));
    expect(fault.issues.map(({ path: [, ...rest] }) => rest.join('.')).sort()).toEqual([...secrets].sort());
    expect(fault.message).toContain(`must be given again, because datasourceOptions.${path} changes`);

    const all = secrets.reduce((given, one) => withValue(given, one.split('.'), 'new'), next);
    expect(JSON.stringify(readOptions(type, all, stored))).toContain('"new"');
    // One secret that is still masked is enough to refuse.
    expect(
      faultOf(() => readOptions(type, withValue(all, secrets[0]?.split('.') ?? [], MASK), stored)).issues,
    ).toHaveLength(1);
  });
});

interface Schema {
  'x-destination'?: true;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

function destinationsIn(schema: Schema, path: string[]): string[] {
  if (schema['x-destination']) return [path.join('.')];
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) => destinationsIn(child, [...path, key])),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((child) => destinationsIn(child, path)),
  ];
}

function faultOf(work: () => unknown): { message: string; issues: { path: string[] }[] } {
  try {
    work();
  } catch (error) {
    const { message, details } = error as { message: string; details: { issues: { path: string[] }[] } };
    return { message, issues: details.issues };
  }
  throw new Error('Nothing was refused');
}

function withValue(options: JsonObject, path: readonly string[], value: string | number | boolean): JsonObject {
  const copy = structuredClone(options);
  const last = path.at(-1) ?? '';
  // Every path of the cases above leads through objects and lists.
  const parent = path.slice(0, -1).reduce((at, key) => at[key] as JsonObject, copy);
  parent[last] = value;
  return copy;
}

function pick(options: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(options).filter(([key]) => keys.includes(key)));
}
