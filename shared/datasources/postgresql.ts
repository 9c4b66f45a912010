import { z } from 'zod';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { sqlWrite } from './sql-writes.ts';

/** The protocol ends a text with NUL. */
const text = z.string().regex(/^[^\0]*$/, 'must not have a NUL character');
const host = destination(z.string().min(1).max(253)).meta({ title: 'Host' });
const port = destination(z.int().min(1).max(65_535)).default(5432).meta({ title: 'Port' });

/** PostgreSQL and servers with its protocol. */
export const postgresql = defineDatasource({
  type: 'postgresql',
  label: 'PostgreSQL',
  category: 'database',
  options: z.discriminatedUnion('connectionOption', [
    z.object({
      connectionOption: z.literal('connectionDetails'),
      connectionDetails: z.object({
        connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
        host,
        port,
        database: text.min(1).meta({ title: 'Database' }),
        user: text.min(1).meta({ title: 'User' }),
        password: secret(text).default('').meta({ title: 'Password' }),
        sslMode: destination(z.enum(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']))
          .default('prefer')
          .meta({ title: 'SSL', description: 'verify-ca and verify-full require a certificate of a known authority' }),
        caCertificate: z.string().max(100_000).default('').meta({
          title: 'CA certificate (PEM)',
          description: 'Certificate authority of the server, unless it is a public one',
        }),
        additionalOptions: z
          .object({
            connectTimeout: z.number().min(1).max(60).default(5).meta({ title: 'Connect timeout (s)' }),
            applicationName: text.max(63).default('gantry').meta({ title: 'Application name' }),
          })
          .prefault({}),
      }),
    }),
    z.object({
      connectionOption: z.literal('connectionString'),
      connectionString: secret(z.string().min(1)).meta({ title: 'Connection string' }),
    }),
  ]),
  query: z.object({
    queryType: z.literal('query').default('query'),
    query: z.string().min(1).max(500_000).meta({ title: 'SQL' }),
  }),
  templates: { query: { as: 'statement', dialect: 'postgresql' } },
  writes: sqlWrite,
  receipts: true,
  defaults: {
    options: {
      connectionOption: 'connectionDetails',
      connectionDetails: { host: 'localhost', port: 5432, database: 'postgres', user: 'postgres', password: '' },
    },
    query: { queryType: 'query', query: 'select 1' },
  },
});
