/**
 * Makes a fresh clone runnable, then becomes a script of it: `node ops/bootstrap.mjs [--dev] [option of node] [script.ts [args…]]`.
 * Without a script it only installs. `--dev` adds the development packages, which running Gantry does not need.
 * Plain JavaScript that Node 20 can read, because nothing is installed yet. A shell that has started it remembers where it
 * found `node`; `hash -r` makes it look again, and find the one that is installed now.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { fail, install, modules, node, pathEntries, root, runChild, say } from './install.mjs';
import { installedSet } from './installed.mjs';

const args = process.argv.slice(2);
const needsDev = args[0] === '--dev';
const command = needsDev ? args.slice(1) : args;

if (Number(process.versions.node.split('.')[0]) < 20) {
  fail(`Node 20 or newer is needed to start, and this is Node ${process.versions.node}.`);
}
if (!existsSync(join(root, 'package-lock.json'))) fail(`${join(root, 'package-lock.json')} is missing.`);
if (!isReady()) await installOnce();
await run(command);

function isReady() {
  const set = installedSet(root);
  return set === 'all' || (set === 'production' && !needsDev);
}

async function installOnce() {
  const release = await acquireLock();
  if (!isReady()) await install({ needsDev });
  release();
}

/**
 * One install at a time. The lock is an abstract Unix socket: the kernel frees it with its process, so it cannot go stale.
 * Systems without such sockets go unguarded.
 */
async function acquireLock() {
  const name = `\0gantry-install-${createHash('sha256').update(root).digest('hex')}`;
  for (let waiting = false; ; waiting = true) {
    const waiters = new Set();
    const server = createServer((socket) => waiters.add(socket.on('error', () => {})));
    const problem = await new Promise((resolve) => {
      server.once('error', (error) => resolve(error.code)).listen(name, () => resolve(undefined));
    });
    if (problem !== 'EADDRINUSE') {
      return () => {
        server.close();
        for (const waiter of waiters) waiter.destroy();
      };
    }

    if (!waiting) say('another process is installing the packages of this folder; waiting for it');
    await new Promise((resolve) => {
      connect(name).on('error', resolve).on('close', resolve).resume();
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Node 26 turns into the script; Node 20 cannot, so it stays as a parent that passes on signals and the exit code. */
async function run([script, ...rest]) {
  if (script === undefined) return;
  const bin = join(modules, '.bin');
  const path = [bin, ...pathEntries().filter((entry) => entry !== bin)].join(delimiter);
  // Compiled code is kept: a process that finds it starts with half of the processor time.
  const env = { NODE_COMPILE_CACHE: join(modules, '.cache/compiled'), ...process.env, PATH: path };

  if (process.execve) process.execve(node, [node, script, ...rest], env);
  const { status, error } = await runChild(node, [script, ...rest], { stdio: 'inherit', env });
  if (error) fail(`${node} could not be started: ${error.message}`);
  process.exit(status);
}
