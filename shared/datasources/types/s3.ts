import { z } from 'zod';
import { Json } from '../../core/json.ts';
import { destination, secret } from '../../core/schema/secret.ts';
import { HTTPAddress } from '../fields/http.ts';
import { encoding } from '../fields/payload.ts';
import { defineDatasource } from './define-datasource.ts';

const bucketName = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{0,255}$/, 'must be the name of a bucket');
const bucket = bucketName
  .default('')
  .meta({ title: 'Bucket', description: 'Name of the bucket. Empty: that of the datasource' });
const key = z
  .string()
  .min(1)
  .max(1_024)
  .meta({ title: 'Key', description: 'Key of the object, with its folders: invoices/2026/17.pdf' });

function operation<const Name extends string>(name: Name) {
  return z.literal(name).meta({
    title: 'Operation',
    description:
      '`listObjects`: keys, sizes and times. `getObject`: the content of an object, up to 10 MB. `putObject`: stores one. `deleteObject`: deletes one. `headObject`: size, type and metadata of one',
  });
}

/** Object storage: Amazon S3 and servers with its protocol. */
export const s3 = defineDatasource({
  type: 's3',
  label: 'S3',
  category: 'file',
  options: z.object({
    accessKeyId: z
      .string()
      .regex(/^[\w.:@+-]{1,200}$/, 'must be the id of an access key')
      .meta({ title: 'Access key ID', description: 'Id of the access key, such as AKIAIOSFODNN7EXAMPLE' }),
    secretAccessKey: secret(z.string().max(500)).meta({
      title: 'Secret access key',
      description: 'The secret that belongs to the access key ID. It is stored encrypted',
    }),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,50}$/, 'must be a region, such as us-east-1')
      .default('us-east-1')
      .meta({
        title: 'Region',
        description: 'Where the buckets are, such as eu-central-1; every request is signed for it',
      }),
    bucket: bucketName
      .default('')
      .meta({ title: 'Bucket', description: 'For queries that name none. Empty: every query has to name one' }),
    endpoint: destination(
      z.union([z.literal(''), HTTPAddress.refine((text) => !text.includes('?'), 'must not contain a ?')]),
    )
      .default('')
      .meta({
        title: 'Endpoint',
        description:
          'URL of a server other than Amazon, such as https://minio.example.com. Empty: Amazon S3 in the region',
      }),
  }),
  query: z.discriminatedUnion('operation', [
    z.object({
      operation: operation('listObjects'),
      bucket,
      prefix: z
        .string()
        .max(1_024)
        .default('')
        .meta({ title: 'Prefix', description: 'Only keys that begin with it, such as invoices/2026/' }),
      startAfter: z
        .string()
        .max(1_024)
        .default('')
        .meta({ title: 'After', description: 'Only keys that come after this one in the order of keys' }),
      maxKeys: z.int().min(1).max(1_000).optional().meta({
        title: 'Objects at most',
        description: 'Reading ends after so many. Empty: after "Rows at most"',
      }),
    }),
    z.object({
      operation: operation('getObject'),
      bucket,
      key,
      responseType: z.enum(['text', 'json', 'base64']).default('text').meta({
        title: 'Read as',
        description: '`text`: UTF-8, or an error. `json`: the parsed value. `base64`: bytes of any kind',
      }),
    }),
    z.object({
      operation: operation('putObject'),
      bucket,
      key,
      body: Json.default('').meta({
        title: 'Body',
        description: 'What is stored: a text, or a template. Other values than text are stored as JSON',
      }),
      encoding,
      contentType: z
        .string()
        .regex(/^[\x20-\x7e]{0,200}$/, 'must be a media type')
        .default('')
        .meta({
          title: 'Content type',
          description:
            'Media type of the object, such as image/png. Empty: application/octet-stream for a text, else application/json',
        }),
    }),
    z.object({ operation: operation('deleteObject'), bucket, key }),
    z.object({ operation: operation('headObject'), bucket, key }),
  ]),
  templates: {},
  writes: (query) =>
    query.operation === 'putObject' || query.operation === 'deleteObject' ? `${query.operation} ${query.key}` : null,
  defaults: {
    options: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: '', region: 'us-east-1', bucket: '' },
    query: { operation: 'listObjects', prefix: '' },
  },
});
