import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { newID } from '#shared/ids.ts';
import { redisURL } from '#test/support/backplane.ts';
import { freshDatabase } from '#test/support/database.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

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
  await eventually(async () => expect((await fetch(`${url}/ready`)).status).toBe(200));

  // The body is still being sent when the signal arrives.
  const { promise: rest, resolve: sendRest } = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode('{"email":'));
      await rest;
      controller.enqueue(new TextEncoder().encode('"ada@example.com"}'));
      controller.close();
    },
  });
  const headers = { 'content-type': 'application/json' };
  const begun = fetch(`${url}/dev/token`, { method: 'POST', headers, body, duplex: 'half' });
  await eventually(async () => expect((await fetch(`${url}/health`)).status).toBe(200));
  const ended = api.kill('SIGTERM');
  await eventually(async () => {
    await expect(fetch(`${url}/health`)).rejects.toThrow();
  });
  sendRest();

  expect((await begun).status).toBe(200);
  expect(await ended).toEqual({ code: 0, signal: null });
});
