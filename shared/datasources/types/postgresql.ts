import { z } from 'zod';
import { destination, secret } from '../../core/schema/secret.ts';
import {
  additionalWords,
  connectionName,
  connectionOption,
  connectionURL,
  detailsWords,
  host,
  passwordWords,
  port,
  userWords,
} from '../fields/connection.ts';
import { SQLQuery } from '../fields/sql-query.ts';
import { sqlWrite } from '../fields/sql-writes.ts';
import { certificateWords } from '../fields/tls.ts';
import { defineDatasource } from './define-datasource.ts';

/** The protocol ends a text with NUL. */
const text = z.string().regex(/^[^\0]*$/, 'must not have a NUL character');

/** PostgreSQL and servers with its protocol. */
export const postgresql = defineDatasource({
  type: 'postgresql',
  label: 'PostgreSQL',
  category: 'database',
  options: z.discriminatedUnion('connectionOption', [
    z.object({
      connectionOption: connectionOption('connectionDetails'),
      connectionDetails: z
        .object({
          connectionName,
          host,
          port: port(5432),
          database: text.min(1).meta({ title: 'Database', description: 'Name of the database, such as shop' }),
          user: text.min(1).meta(userWords),
          password: secret(text).default('').meta(passwordWords),
          sslMode: destination(z.enum(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']))
            .default('prefer')
            .meta({
              title: 'Encryption',
              description:
                '`disable`: never. `allow`: only if the server insists. `prefer`: if the server offers it. `require`: always. `verify-ca`: always, and the certificate is checked. `verify-full`: its host name is checked too',
            }),
          caCertificate: z.string().max(100_000).default('').meta(certificateWords),
          additionalOptions: z
            .object({
              connectTimeout: z.number().min(1).max(60).default(5).meta({
                title: 'Time limit of connecting (s)',
                description: 'Seconds after which an attempt to connect fails',
              }),
              applicationName: text.max(63).default('gantry').meta({
                title: 'Application name',
                description: 'How the server names the connections, as in `pg_stat_activity`',
              }),
            })
            .prefault({})
            .meta(additionalWords),
        })
        .meta(detailsWords),
    }),
    z.object({
      connectionOption: connectionOption('connectionString'),
      connectionString: connectionURL(
        z.string().min(1),
        'Such as postgresql://user:password@host:5432/database?sslmode=require, with special characters percent-encoded. It is stored encrypted',
      ),
    }),
  ]),
  query: SQLQuery,
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
