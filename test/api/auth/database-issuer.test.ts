import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startApi } from '#api/app/listen.ts';
import { requireDevelopmentDatabase } from '#api/auth/database-issuer.ts';
import { newID } from '#shared/core/ids.ts';
import { readConfig } from '#shared/process/config.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';

let dir: string;
let deployment: Deployment;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`));
  deployment = await startDeployment({ PORT: '0' });
});
afterEach(async () => {
  await deployment[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

const development = () => ({ DEV_ISSUER_KEY_FILE: join(dir, 'key.json') });
const provider = { AUTH_ISSUER: 'https://login.example.test/', AUTH_AUDIENCE: 'gantry' };
const refusal = `The database has run with the identity provider ${provider.AUTH_ISSUER}, so the development issuer`;

async function startOnce(settings: Record<string, string>): Promise<void> {
  await using _api = await startApi({ config: readConfig({ ...deployment.env, ...settings }), logger: testLogger });
}

async function addUser(issuer: string): Promise<void> {
  const values = [newID(), issuer, newID(), 'ada@example.com'];
  await deployment.pool.query('insert into app_user (id, issuer, subject, email) values ($1, $2, $3, $4)', values);
}

test('the development issuer may start again on its own database, but not on one that has run with a provider', async () => {
  await startOnce(development());
  await startOnce(development());
  await startOnce(provider);

  await expect(startOnce(development())).rejects.toThrow(refusal);
  await startOnce(provider);
});

test('refuses a database without a record of its provider when it holds users of a provider', async () => {
  await addUser('urn:gantry:development');
  await addUser('urn:gantry:test-bypass');
  await startOnce(development());
  await addUser(provider.AUTH_ISSUER);

  await expect(startOnce(development())).rejects.toThrow(refusal);
});

test('accepts a database without tables', async () => {
  const { pool } = deployment;
  await pool.query('drop table service_state');

  await expect(requireDevelopmentDatabase(pool)).resolves.toBeUndefined();
});
