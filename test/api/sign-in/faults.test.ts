import { open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { issuer, startFlow, startSignInCluster, visit } from '#test/support/sign-in.ts';

test('a fault within the provider is in the log, with the id of its request', async () => {
  await using resources = new AsyncDisposableStack();
  const path = join(tmpdir(), `gantry-sign-in-log-${newID()}`);
  resources.defer(() => rm(path, { force: true }));
  const file = resources.adopt(await open(path, 'a'), (opened) => opened.close());
  const cluster = resources.use(await startSignInCluster({ logger: createLogger({ level: 'info' }, {}, file.fd) }));
  await cluster.pool.query('alter table sign_in_record rename to sign_in_record_away');
  const { url } = await startFlow();
  const tokens = { grant_type: 'refresh_token', client_id: 'gantry', refresh_token: 'x'.repeat(43) };

  await visit(cluster).open(url.href, { headers: { 'x-request-id': 'a-page' } });
  await visit(cluster).open(`${issuer}/token`, { headers: { 'x-request-id': 'a-token' }, form: tokens });

  const lines = (await readFile(path, 'utf8')).split('\n').filter(Boolean);
  const ofRequests = lines.map((line) => JSON.parse(line)).filter(({ requestID }) => requestID !== undefined);
  expect(ofRequests.map(({ requestID }) => requestID)).toEqual(['a-page', 'a-token']);
  for (const line of ofRequests) expect(JSON.stringify(line)).toContain('sign_in_record');
});
