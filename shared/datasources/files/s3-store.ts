import type { AwsClient } from 'aws4fetch';
import type { BlobStore, ByteRange } from './store.ts';

export interface S3Location {
  /** Absent: Amazon's, for the region. */
  endpoint: string | undefined;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

const TIMEOUT_MS = 30_000;

/** Files as objects in a bucket of the deployment, with path-style URLs. A failed request is retried twice, which is safe for each of them. */
export function createS3Store({ endpoint, bucket, ...credentials }: S3Location): BlobStore {
  let client: AwsClient | undefined;
  const base = (endpoint ?? `https://s3.${credentials.region}.amazonaws.com`).replace(/\/+$/, '');

  async function send(
    method: 'GET' | 'PUT' | 'DELETE',
    key: string,
    { bytes, range }: { bytes?: Buffer; range?: ByteRange } = {},
  ): Promise<Response | undefined> {
    client ??= await openClient(credentials);
    const answer = await client.fetch(`${base}/${bucket}/${key}`, {
      method,
      // A buffer may be a part of a larger one, which fetch would send whole.
      ...(bytes && { body: new Uint8Array(bytes) }),
      ...(range && { headers: { range: `bytes=${range.start}-${range.end}` } }),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    // A server may ignore the range, and answer with the whole file.
    if (range ? answer.status === 206 : answer.ok) return answer;
    await answer.body?.cancel();
    if (answer.status === 404 && method !== 'PUT') return undefined;
    throw new Error(`The S3 server of the deployment answered ${answer.status} to ${method}`);
  }

  return {
    name: 's3',
    async put(key, bytes) {
      await send('PUT', key, { bytes });
    },
    async read(key, range) {
      return (await send('GET', key, range && { range }))?.body ?? undefined;
    },
    async delete(key) {
      await send('DELETE', key);
    },
  };
}

/** Loaded with the first file: most deployments have no bucket. */
async function openClient(
  credentials: Pick<S3Location, 'region' | 'accessKeyId' | 'secretAccessKey'>,
): Promise<AwsClient> {
  const { AwsClient } = await import('aws4fetch');
  return new AwsClient({ ...credentials, service: 's3', retries: 2 });
}
