import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { s3 } from '#shared/datasources/types/s3.ts';
import type { DatasourceItem, ExecuteOptions, QueryResult } from '../../../connections/connection.ts';
import { MAX_READ_BYTES } from '../../../connections/rows.ts';
import { createOutboundFetch, type HTTPResponse } from '../../../outbound/fetch.ts';
import { readBody } from '../../http/body.ts';
import type { Connector } from '../connector.ts';
import { readBuckets, readHead, readListing } from './answers.ts';
import { createClient, type SendS3Request } from './client.ts';

type Query = z.output<typeof s3.query>;
type S3Operation<Operation extends Query['operation']> = Extract<Query, { operation: Operation }> & { bucket: string };

const MAX_OBJECT_BYTES = 10_000_000;
const PAGE = 1_000;

/** Connects to the S3 server of one account; all calls reuse its connections. */
export const connectS3: Connector<typeof s3> = (options, { outbound }) => {
  const fetch = createOutboundFetch(outbound, { maxBytes: MAX_OBJECT_BYTES });
  const send = createClient(options, fetch);

  function bucketOf({ bucket }: Query): string {
    const named = bucket || options.bucket;
    if (named === '') throw invalidField('bucket', 'neither the query nor the datasource names one');
    return named;
  }

  return {
    async test(signal) {
      const { bucket } = options;
      // Lists instead of HEAD: a refused listing has a body with the reason.
      if (bucket === '') readBuckets(await send({ method: 'GET' }, signal));
      else readListing(await send({ method: 'GET', bucket, params: { 'list-type': '2', 'max-keys': '1' } }, signal));
    },
    async execute({ query }, run) {
      const bucket = bucketOf(query);
      switch (query.operation) {
        case 'listObjects':
          return await listObjects(send, { ...query, bucket }, run);
        case 'getObject':
          return await getObject(send, { ...query, bucket }, run);
        case 'putObject':
          return await putObject(send, { ...query, bucket }, run);
        case 'deleteObject':
          await send({ method: 'DELETE', bucket, key: query.key }, run.signal);
          return { data: { key: query.key } };
        case 'headObject': {
          const answer = await send({ method: 'HEAD', bucket, key: query.key }, run.signal);
          return { data: { key: query.key, ...readHead(answer) } };
        }
      }
    },
    async browse([bucket, ...folders], signal) {
      if (bucket !== undefined) return await browseFolder(send, { bucket, folders }, signal);
      const buckets = options.bucket === '' ? readBuckets(await send({ method: 'GET' }, signal)) : [options.bucket];
      return buckets.map((name) => ({ name, kind: 'bucket', isContainer: true }));
    },
    [Symbol.asyncDispose]: () => fetch[Symbol.asyncDispose](),
  };
};

/** Reads page by page, up to the wanted number. */
async function listObjects(
  send: SendS3Request,
  { bucket, prefix, startAfter, maxKeys = Number.POSITIVE_INFINITY }: S3Operation<'listObjects'>,
  { signal, maxRows, onRows }: ExecuteOptions,
): Promise<QueryResult> {
  const maxObjects = Math.min(maxKeys, maxRows);
  const rows: JsonObject[] = [];
  let count = 0;
  let bytes = 0;
  let token: string | null = '';
  // The first page has no token: a next page without one would be the first again.
  const asked = new Set(['']);
  while (token !== null && count < maxObjects && bytes < MAX_READ_BYTES) {
    const params = listParams({ prefix, startAfter, token, size: Math.min(PAGE, maxObjects - count) });
    const answer = await send({ method: 'GET', bucket, params }, signal);
    const { objects, next } = readListing(answer);
    if (next !== null && asked.has(next))
      throw new AppError('UPSTREAM_FAILED', `The list goes on where it was before: ${JSON.stringify(next)}`, {
        retry: false,
      });
    if (next !== null) asked.add(next);
    const wanted = objects.slice(0, maxObjects - count);
    count += wanted.length;
    token = next;
    if (onRows) await onRows(wanted);
    else {
      rows.push(...wanted);
      bytes += answer.body.length;
    }
  }
  return { data: rows, rowCount: count, truncated: token !== null };
}

function listParams({ size, ...asked }: { prefix: string; startAfter: string; token: string; size: number }) {
  const { prefix, startAfter, token } = asked;
  return {
    'list-type': '2',
    'encoding-type': 'url',
    'max-keys': String(size),
    ...(prefix !== '' && { prefix }),
    ...(startAfter !== '' && token === '' && { 'start-after': startAfter }),
    ...(token !== '' && { 'continuation-token': token }),
  };
}

async function getObject(
  send: SendS3Request,
  { bucket, key, responseType }: S3Operation<'getObject'>,
  { signal }: ExecuteOptions,
): Promise<QueryResult> {
  const answer = await send({ method: 'GET', bucket, key }, signal).catch((error: unknown) => {
    throw isTooLarge(error) ? tooLarge(error) : error;
  });
  return { data: await contentOf(answer, responseType) };
}

async function contentOf(answer: HTTPResponse, responseType: 'text' | 'json' | 'base64'): Promise<Json> {
  if (responseType !== 'text') return (await readBody(answer, responseType)) ?? (responseType === 'base64' ? '' : null);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(answer.body);
  } catch (cause) {
    throw invalidField('responseType', 'the object is no text; it can be read as base64', { code: 'DB_ERROR', cause });
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof AppError && isJsonObject(error.details) && error.details.reason === 'too-large';
}

function tooLarge(cause: unknown): AppError {
  return new AppError(
    'UPSTREAM_FAILED',
    `The object has more than ${MAX_OBJECT_BYTES / 1_000_000} MB, too many to answer with`,
    {
      cause,
      retry: false,
      details: { reason: 'too-large' },
    },
  );
}

async function putObject(
  send: SendS3Request,
  { bucket, key, body, encoding, contentType }: S3Operation<'putObject'>,
  { signal }: ExecuteOptions,
): Promise<QueryResult> {
  const bytes = bytesOf(body, encoding);
  const media = contentType || (typeof body === 'string' ? 'application/octet-stream' : 'application/json');
  const answer = await send({ method: 'PUT', bucket, key, body: bytes, headers: { 'content-type': media } }, signal);
  return { data: { key, size: bytes.length, eTag: readHead(answer).eTag ?? null }, affectedRows: 1 };
}

function bytesOf(body: Json, encoding: 'text' | 'base64'): Buffer {
  if (encoding === 'text') return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  if (typeof body !== 'string' || body.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(body))
    throw invalidField('body', 'must be base64');
  return Buffer.from(body, 'base64');
}

/** Content of a folder: folders below it, and objects. */
async function browseFolder(
  send: SendS3Request,
  { bucket, folders }: { bucket: string; folders: readonly string[] },
  signal: AbortSignal,
): Promise<DatasourceItem[]> {
  if (!/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}$/.test(bucket)) throw new AppError('NOT_FOUND', 'There is no such bucket');
  const prefix = folders.map((folder) => `${folder}/`).join('');
  const params = { ...listParams({ prefix, startAfter: '', token: '', size: PAGE }), delimiter: '/' };
  const { prefixes, objects } = readListing(await send({ method: 'GET', bucket, params }, signal));
  return [
    ...prefixes.map((name) => ({ name: name.slice(prefix.length, -1), kind: 'folder', isContainer: true })),
    // Some clients store a folder as an object of its own name.
    ...objects
      .filter(({ key }) => key !== prefix)
      .map(({ key, ...details }) => ({
        name: String(key).slice(prefix.length),
        kind: 'object',
        isContainer: false,
        details,
      })),
  ];
}
