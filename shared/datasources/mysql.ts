import { z } from 'zod';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { sqlWrite } from './sql-writes.ts';

/** The protocol ends a name with NUL. */
const text = z.string().regex(/^[^\0]*$/, 'must not have a NUL character');

/** MySQL and MariaDB. */
export const mysql = defineDatasource({
  type: 'mysql',
  label: 'MySQL',
  category: 'database',
  options: z.discriminatedUnion('connectionOption', [
    z.object({
      connectionOption: z.literal('connectionDetails'),
      connectionDetails: z.object({
        connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
        host: destination(z.string().min(1).max(253)).meta({ title: 'Host' }),
        port: destination(z.int().min(1).max(65_535)).default(3306).meta({ title: 'Port' }),
        database: text.min(1).meta({ title: 'Database' }),
        user: text.min(1).meta({ title: 'User' }),
        password: secret(text).default('').meta({ title: 'Password' }),
        ssl: destination(z.boolean()).default(false).meta({ title: 'SSL' }),
        sslVerify: z.boolean().default(true).meta({
          title: 'Verify the certificate',
          description: 'If off, the connection is encrypted, but the server is not verified',
        }),
        caCertificate: z.string().max(100_000).default('').meta({
          title: 'CA certificate (PEM)',
          description: 'Certificate authority of the server, unless it is a public one',
        }),
        additionalOptions: z
          .object({
            connectTimeout: z.int().min(1_000).max(60_000).default(10_000).meta({ title: 'Connect timeout (ms)' }),
          })
          .prefault({}),
      }),
    }),
    z.object({
      connectionOption: z.literal('connectionString'),
      connectionString: secret(z.string().min(1)).meta({
        title: 'Connection string',
        description: 'mysql://user:password@host:3306/database?ssl=true',
      }),
    }),
  ]),
  query: z.object({
    queryType: z.literal('query').default('query'),
    query: z.string().min(1).max(500_000).meta({ title: 'SQL' }),
  }),
  templates: { query: { as: 'statement', dialect: 'mysql' } },
  writes: sqlWrite,
  receipts: true,
  defaults: {
    options: {
      connectionOption: 'connectionDetails',
      connectionDetails: { host: 'localhost', port: 3306, database: 'mysql', user: 'root', password: '' },
    },
    query: { queryType: 'query', query: 'select 1' },
  },
});
