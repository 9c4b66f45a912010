import { parseXml, XmlElement } from '@rgrove/parse-xml';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { type HTTPResponse, whereOf } from '../../../outbound/fetch.ts';
import { upstreamError } from '../../../outbound/upstream-error.ts';

/** One page of the objects of a bucket. */
export interface Listing {
  objects: JsonObject[];
  /** Common prefixes, up to the next delimiter. */
  prefixes: string[];
  /** Token of the next page; null on the last, empty if the server says that there is one and does not name it. */
  next: string | null;
}

export function readListing(response: HTTPResponse): Listing {
  const root = readXML(response, 'ListBucketResult');
  const isEncoded = textIn(root, 'EncodingType') === 'url';
  const decode = (text: string) => (isEncoded ? decodeKey(text, response) : text);
  return {
    objects: childrenOf(root, 'Contents').map((item) => ({
      key: decode(textIn(item, 'Key')),
      size: numberOf(textIn(item, 'Size')),
      lastModified: textIn(item, 'LastModified') || null,
      eTag: unquoted(textIn(item, 'ETag')) || null,
      storageClass: textIn(item, 'StorageClass') || null,
    })),
    prefixes: childrenOf(root, 'CommonPrefixes').map((item) => decode(textIn(item, 'Prefix'))),
    next: textIn(root, 'IsTruncated') === 'true' ? textIn(root, 'NextContinuationToken') : null,
  };
}

export function readBuckets(response: HTTPResponse): string[] {
  const root = readXML(response, 'ListAllMyBucketsResult');
  return childrenOf(root, 'Buckets')
    .flatMap((buckets) => childrenOf(buckets, 'Bucket'))
    .map((bucket) => textIn(bucket, 'Name'));
}

/** Metadata of an object, from the headers of its answer. */
export function readHead({ headers }: HTTPResponse): JsonObject {
  const metadata = Object.entries(headers).filter(([name]) => name.startsWith(METADATA));
  return {
    size: numberOf(headers['content-length'] ?? ''),
    contentType: headers['content-type'] ?? null,
    eTag: unquoted(headers.etag ?? '') || null,
    lastModified: headers['last-modified'] ?? null,
    metadata: Object.fromEntries(metadata.map(([name, value]) => [name.slice(METADATA.length), value])),
  };
}

const METADATA = 'x-amz-meta-';

const wrongKey: ReadonlySet<string> = new Set(['InvalidAccessKeyId', 'SignatureDoesNotMatch']);
const temporaryStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** Uses the code only: messages of S3 repeat keys and the signed text. */
export function responseError(response: HTTPResponse): AppError {
  const { status, url } = response;
  const code = codeOf(response);
  if (wrongKey.has(code)) return upstreamError('authentication', whereOf(url), new Error(code));
  const words = explanations[code] ?? explanations[String(status)] ?? `answered ${status}`;
  return new AppError('UPSTREAM_FAILED', `${whereOf(url)}: ${words}${code === '' ? '' : ` (${code})`}`, {
    retry: temporaryStatuses.has(status),
    details: { status, ...(code !== '' && { code }) },
  });
}

const explanations: Readonly<Record<string, string>> = {
  NoSuchKey: 'there is no object of this key',
  NoSuchBucket: 'there is no such bucket',
  AccessDenied: 'the access key may not do this',
  AuthorizationHeaderMalformed: 'the region is not the right one',
  PermanentRedirect: 'the bucket is in another region',
  RequestTimeTooSkewed: 'its clock and ours differ too much',
  '301': 'the bucket is in another region',
  '403': 'the access key is not accepted, or may not do this',
  '404': 'there is no such bucket, or no object of this key',
};

function codeOf(response: HTTPResponse): string {
  // The answer to a HEAD has no body.
  if (response.body.length === 0) return '';
  try {
    const code = textIn(readXML(response, 'Error'), 'Code');
    return /^[A-Za-z0-9.]{1,100}$/.test(code) ? code : '';
  } catch {
    return '';
  }
}

/** Parses an answer. The parser knows only the entities of XML itself, and ignores document types. */
function readXML(response: HTTPResponse, name: string): XmlElement {
  try {
    const { root } = parseXml(new TextDecoder().decode(response.body));
    if (root?.name === name) return root;
  } catch (cause) {
    throw strange(response, cause);
  }
  throw strange(response);
}

function strange({ url }: HTTPResponse, cause?: unknown): AppError {
  return new AppError('UPSTREAM_FAILED', `What ${whereOf(url)} answers is not what an S3 server says`, {
    cause,
    retry: false,
  });
}

function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child): child is XmlElement => child instanceof XmlElement && child.name === name);
}

function textIn(element: XmlElement, name: string): string {
  return childrenOf(element, name)[0]?.text ?? '';
}

/** Amazon encodes a space as `+`, others as `%20`. */
function decodeKey(text: string, response: HTTPResponse): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw strange(response, cause);
  }
}

function numberOf(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function unquoted(text: string): string {
  return text.replace(/^"|"$/g, '');
}
