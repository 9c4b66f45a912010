import { hash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import type { z } from 'zod';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { s3 } from '#shared/datasources/types/s3.ts';
import type { HTTPResponse, OutboundFetch } from '../../../outbound/fetch.ts';
import { responseError } from './answers.ts';

type Options = z.output<typeof s3.options>;

interface S3Request {
  method: 'GET' | 'PUT' | 'DELETE' | 'HEAD';
  /** Bucket and key; both empty for the list of buckets. */
  bucket?: string;
  key?: string;
  params?: Readonly<Record<string, string>>;
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
}

/** Sends a request. Returns a response with a status of 2xx, and throws for others. */
export type SendS3Request = (request: S3Request, signal: AbortSignal) => Promise<HTTPResponse>;

/** Sends requests to an S3 server, with the credentials of the options only. */
export function createClient(options: Options, fetch: OutboundFetch): SendS3Request {
  return async (request, signal) => {
    const { method, headers = {}, body } = request;
    const url = addressOf(options, request);
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': hash('sha256', body ?? '') },
      accessKeyId: options.accessKeyId,
      secretAccessKey: options.secretAccessKey,
      service: 's3',
      region: options.region,
    });
    const signed = await signer.sign();
    const answer = await fetch(
      // A signature is valid for one host, so redirects are not followed.
      {
        url: signed.url,
        method,
        headers: Object.fromEntries(signed.headers),
        body: body ?? null,
        followRedirects: false,
      },
      signal,
    );
    if (answer.status < 200 || answer.status >= 300) throw responseError(answer);
    return answer;
  };
}

/** Virtual-hosted addresses at Amazon, whose certificate covers them; path addresses elsewhere. */
function addressOf({ endpoint, region }: Options, { bucket = '', key = '', params = {} }: Partial<S3Request>): URL {
  const amazon = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const isHost = endpoint === '' && /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(bucket);
  const base = new URL(endpoint === '' ? `https://${isHost ? `${bucket}.` : ''}${amazon}` : endpoint);
  const root = base.pathname.replace(/\/$/, '');
  const path = isHost || bucket === '' ? '' : `/${bucket}`;
  base.pathname = `${root}${path}/${encodeKey(key)}`;
  // A space must be %20, as in the signature; not every server reads + as a space.
  base.search = Object.entries(params)
    .map(([name, value]) => `${name}=${encodeSegment(value)}`)
    .join('&');
  return base;
}

/** Keeps slashes, which clients show as folders. */
function encodeKey(key: string): string {
  const segments = key.split('/');
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw invalidField('key', 'must not hold steps such as .., which no address can carry');
  return segments.map(encodeSegment).join('/');
}

/** Encodes as the signature does, including characters that `encodeURIComponent` leaves. */
function encodeSegment(segment: string): string {
  if (!segment.isWellFormed()) throw invalidField('key', 'half a character has no bytes');
  return encodeURIComponent(segment).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
