/** The sockets' adapter in its own process, because a leaked handle keeps that process alive. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { redisURL as url } from '#test/support/backplane.ts';
import { testServers } from '#test/support/environment.ts';

test('a process that stops while the adapter connects exits', async () => {
  const { databaseURL } = testServers;
  const config = { prefix: 'sockets_test', databaseURL, ...(url && { redis: { url, sentinels: [] } }) };
  const script = `
    import { Server } from 'socket.io';
    import { createBackplane } from '#shared/backplane/index.ts';
    import { createLogger } from '#shared/logger.ts';
    const backplane = await createBackplane(${JSON.stringify(config)}, createLogger({ level: 'silent' }));
    const { adapter } = new Server({ adapter: backplane.adapter() }).of('/');
    await adapter.close();
    await backplane[Symbol.asyncDispose]();
    console.log('disposed');`;

  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(import.meta.dirname, '../../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 20_000,
  });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);

  expect({ out, code }).toEqual({ out: 'disposed\n', code: 0 });
});
