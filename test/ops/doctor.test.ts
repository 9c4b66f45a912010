import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deploymentCommands } from '#ops/cli/deployment.ts';
import { examine } from '#ops/cli/doctor.ts';
import { runCommandLine } from '#ops/cli/program.ts';
import { startRedis } from '../servers/redis.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aDatasource, aTenant } from '../support/factories.ts';

let cluster: Cluster;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gantry-doctor-'));
  cluster = await startCluster();
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

describe('the doctor', () => {
  const stateOf = async (check: string, env: Record<string, string>) =>
    (await examine({ ...cluster.env, ...env })).find((finding) => finding.check === check);

  test('finds only what is wrong', async () => {
    const findings = await examine(cluster.env);

    // The Postgres of the tests does not wait for the disk.
    const bad = findings.filter(({ state, check }) => state === 'bad' && check !== 'disk');
    expect(bad).toMatchObject([{ check: 'Postgres', found: expect.stringContaining('fsync off') }]);
    expect(findings).toHaveLength(9);
  });

  test('finds a key that is missing, and a Redis that forgets', async () => {
    await aDatasource(cluster, { tenant: await aTenant(cluster) });
    const SECRETS_KEYS = `other:${Buffer.alloc(32, 9).toString('base64')}`;
    await using redis = await startRedis({ dir: join(dir, 'redis') });

    expect(await stateOf('keys', { SECRETS_KEYS })).toMatchObject({
      state: 'bad',
      advice: expect.stringContaining('1 stored secret was sealed with a key that is not here (datasource: 1)'),
    });
    expect(await stateOf('Redis', { REDIS_URL: redis.url })).toMatchObject({ state: 'ok' });
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    client.disconnect();
    expect(await stateOf('Redis', { REDIS_URL: redis.url })).toMatchObject({
      state: 'bad',
      found: expect.stringContaining('lru'),
    });
  });

  test('shows the whole of what it finds', async () => {
    const FILES_DIR = join(dir, 'a-folder-with-a-long-name/'.repeat(4));
    await mkdir(FILES_DIR, { recursive: true });
    const shown: string[] = [];
    const world = { env: { ...cluster.env, FILES_DIR }, line: (text: string) => void shown.push(text), note: () => {} };
    await runCommandLine(['doctor'], { ...world, readSecret: async () => '' }, deploymentCommands);

    expect(shown.join('\n')).toMatch(new RegExp(`disk +.* free .* in ${resolve(FILES_DIR)}$`, 'm'));
  });

  test('says when there is no database', async () => {
    const [, , ...findings] = await examine({ ...cluster.env, DATABASE_URL: 'postgres://a@127.0.0.1:1/a' });

    expect(findings[0]).toMatchObject({ check: 'Postgres', state: 'bad' });
  });
});
