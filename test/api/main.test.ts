import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { newID } from '#shared/core/ids.ts';
import { redisURL } from '#test/support/backplane.ts';
import { freshDatabase } from '#test/support/database.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

/** A process takes seconds to load its files on a busy machine. */
const START_MS = 45_000;

test('the API starts from its settings alone, and at SIGTERM finishes its requests and exits 0', async () => {
  await using resources = new AsyncDisposableStack();
  const database = resources.use(await freshDatabase());
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-main-')), (path) => rm(path, { recursive: true }));
  const port = await freePort();
  const api = resources.use(
    spawnNode(['api/main.ts'], {
      NODE_ENV: 'test',
      DATABASE_URL: database.url,
      ...(redisURL && { REDIS_URL: redisURL }),
      BACKPLANE_PREFIX: `t${newID().replaceAll('-', '').slice(-20)}`,
      PORT: String(port),
      DEV_ISSUER_KEY_FILE: join(dir, 'key.json'),
      LOG_LEVEL: 'silent',
    }),
  );
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => expect((await fetch(`${url}/ready`)).status).toBe(200), START_MS);

  // The API has read the head of this request, and waits for its body, when the signal arrives.
  const headers = { 'content-type': 'application/json', expect: '100-continue' };
  const begun = request(`${url}/dev/token`, { method: 'POST', headers });
  const answered = once(begun, 'response');
  begun.flushHeaders();
  await once(begun, 'continue');
  begun.write('{"email":');
  const ended = api.kill('SIGTERM');
  await eventually(async () => {
    await expect(fetch(`${url}/health`)).rejects.toThrow();
  });
  begun.end('"ada@example.com"}');

  const [response] = (await answered) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(200);
  expect(await ended).toEqual({ code: 0, signal: null });
});
