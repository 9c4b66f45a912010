import { decodeProtectedHeader, importJWK, jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openSigningKeys, type SigningKeys } from '#api/sign-in/signing-keys.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({});
});
afterAll(() => deployment[Symbol.asyncDispose]());
beforeEach(() => deployment.pool.query('delete from sign_in_key'));

const secrets = createKeyRing([{ id: 'one', key: Buffer.alloc(32, 1) }]);
const open = (keys = secrets) => openSigningKeys({ pool: deployment.pool, secrets: keys, logger: testLogger });

async function sign(keys: SigningKeys): Promise<string> {
  const [jwk = {}] = keys.current().jwks;
  const { kid = '', alg = '' } = jwk;
  return await new SignJWT({}).setProtectedHeader({ alg, kid }).sign(await importJWK(jwk, alg));
}

const age = (by: string) =>
  deployment.pool.query('update sign_in_key set created_at = created_at - $1::interval', [by]);

const kidOf = (token: string) => decodeProtectedHeader(token).kid;

test('are made once by processes that start together, and stored sealed', async () => {
  const opened = await Promise.all([open(), open(), open()]);
  try {
    const kids = opened.map((keys) => keys.current().jwks.map(({ kid }) => kid));
    expect(kids).toEqual([kids[0], kids[0], kids[0]]);
    expect(kids[0]).toHaveLength(1);
    for (const keys of opened) await jwtVerify(await sign(opened[0] as SigningKeys), keys.find);
    const { rows } = await deployment.pool.query('select secret from sign_in_key');
    for (const { secret } of rows) expect(secret).toMatch(/^gs1\.one\./);
  } finally {
    for (const keys of opened) await keys[Symbol.asyncDispose]();
  }
});

test('are replaced after 30 days: the next one is known before it signs, the one before is known for a day more', async () => {
  await using first = await open();
  const before = await sign(first);

  await age('31 days');
  await using second = await open();
  expect(second.current().jwks).toHaveLength(2);
  expect(kidOf(await sign(second)), 'the next one does not sign yet').toBe(kidOf(before));

  await age('16 minutes');
  await using third = await open();
  const after = await sign(third);
  expect(kidOf(after)).not.toBe(kidOf(before));
  await jwtVerify(before, third.find);
  // It was published ahead.
  await jwtVerify(after, second.find);

  await age('25 hours');
  await using fourth = await open();
  expect(fourth.current().jwks).toHaveLength(1);
  await expect(jwtVerify(before, fourth.find)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
  await jwtVerify(after, fourth.find);
});

test('that no key of SECRETS_KEYS opens are replaced at once', async () => {
  await using first = await open();
  const before = await sign(first);

  await using second = await open(createKeyRing([{ id: 'two', key: Buffer.alloc(32, 2) }]));

  const after = await sign(second);
  expect(kidOf(after)).not.toBe(kidOf(before));
  await jwtVerify(after, second.find);
});
