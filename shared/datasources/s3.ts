import { z } from 'zod';
import { Json } from '../json.ts';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { HTTPAddress } from './http-fields.ts';

const bucketName = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{0,255}$/, 'must be the name of a bucket');
const bucket = bucketName.default('').meta({ title: 'Bucket', description: "Empty: the datasource's bucket" });
const key = z.string().min(1).max(1_024).meta({ title: 'Key' });

/** Object storage: Amazon S3 and servers with its protocol. */
export const s3 = defineDatasource({
  type: 's3',
  label: 'S3',
  category: 'file',
  options: z.object({
    accessKeyId: z
      .string()
      .regex(/^[\w.:@+-]{1,200}$/, 'must be the id of an access key')
      .meta({ title: 'Access key' }),
    secretAccessKey: secret(z.string().max(500)).meta({ title: 'Secret key' }),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,50}$/, 'must be a region, such as us-east-1')
      .default('us-east-1')
      .meta({ title: 'Region' }),
    bucket: bucketName.default('').meta({ title: 'Bucket', description: 'For queries that name none' }),
    endpoint: destination(
      z.union([z.literal(''), HTTPAddress.refine((text) => !text.includes('?'), 'must not contain a ?')]),
    )
      .default('')
      .meta({ title: 'Endpoint', description: 'URL of the server; empty: Amazon S3 in the region' }),
  }),
  query: z.discriminatedUnion('operation', [
    z.object({
      operation: z.literal('listObjects'),
      bucket,
      prefix: z.string().max(1_024).default('').meta({ title: 'Prefix', description: 'Keys that begin with it' }),
      startAfter: z.string().max(1_024).default('').meta({ title: 'After', description: 'Keys that come after it' }),
      maxKeys: z.int().min(1).max(1_000).optional().meta({
        title: 'Objects at most',
        description: 'Empty: up to the row limit of the query, page by page',
      }),
    }),
    z.object({
      operation: z.literal('getObject'),
      bucket,
      key,
      responseType: z.enum(['text', 'json', 'base64']).default('text').meta({ title: 'Answer as' }),
    }),
    z.object({
      operation: z.literal('putObject'),
      bucket,
      key,
      body: Json.default('').meta({ title: 'Body', description: 'Other values than text are stored as JSON' }),
      encoding: z.enum(['text', 'base64']).default('text').meta({ title: 'The body is' }),
      contentType: z
        .string()
        .regex(/^[\x20-\x7e]{0,200}$/, 'must be a media type')
        .default('')
        .meta({ title: 'Content type' }),
    }),
    z.object({ operation: z.literal('deleteObject'), bucket, key }),
    z.object({ operation: z.literal('headObject'), bucket, key }),
  ]),
  templates: {},
  writes: (query) =>
    query.operation === 'putObject' || query.operation === 'deleteObject' ? `${query.operation} ${query.key}` : null,
  defaults: {
    options: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: '', region: 'us-east-1', bucket: '' },
    query: { operation: 'listObjects', prefix: '' },
  },
});
