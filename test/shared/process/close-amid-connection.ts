/** Closes within 0.3 s, then says so in the file that it is given, while an open server keeps the process alive. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeAndExit } from '#shared/process/shutdown.ts';

const [path = ''] = process.argv.slice(2);
createServer().listen(0, '127.0.0.1');
await closeAndExit({
  async [Symbol.asyncDispose]() {
    await sleep(300);
    writeFileSync(path, 'closed');
  },
});
