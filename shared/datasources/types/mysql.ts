import { z } from 'zod';
import { secret } from '../../core/schema/secret.ts';
import {
  additionalWords,
  connectionName,
  connectionOption,
  connectionURL,
  detailsWords,
  host,
  passwordWords,
  port,
  tls,
  userWords,
} from '../fields/connection.ts';
import { SQLQuery } from '../fields/sql-query.ts';
import { sqlWrite } from '../fields/sql-writes.ts';
import { certificateWords, verifyWords } from '../fields/tls.ts';
import { defineDatasource } from './define-datasource.ts';

/** The protocol ends a name with NUL. */
const text = z.string().regex(/^[^\0]*$/, 'must not have a NUL character');

/** MySQL and MariaDB. */
export const mysql = defineDatasource({
  type: 'mysql',
  label: 'MySQL',
  category: 'database',
  options: z.discriminatedUnion('connectionOption', [
    z.object({
      connectionOption: connectionOption('connectionDetails'),
      connectionDetails: z
        .object({
          connectionName,
          host,
          port: port(3306),
          database: text.min(1).meta({ title: 'Database', description: 'Name of the database, such as shop' }),
          user: text.min(1).meta(userWords),
          password: secret(text).default('').meta(passwordWords),
          ssl: tls,
          sslVerify: z
            .boolean()
            .default(true)
            .meta({
              ...verifyWords,
              description: `${verifyWords.description}. On: the host must be a name, and no IP address`,
            }),
          caCertificate: z.string().max(100_000).default('').meta(certificateWords),
          additionalOptions: z
            .object({
              connectTimeout: z.int().min(1_000).max(60_000).default(10_000).meta({
                title: 'Time limit of connecting (ms)',
                description: 'Milliseconds after which an attempt to connect fails',
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
        'Such as mysql://user:password@host:3306/database?ssl=true, with special characters percent-encoded. It is stored encrypted',
      ),
    }),
  ]),
  query: SQLQuery,
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
