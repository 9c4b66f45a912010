/** An S3 server for tests, OpenStack Swift: loopback, its files in a folder of the test's, ended with the process that started it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '#ops/embedded/ports.ts';
import { endChild, hasExited, tiedToParent } from '#ops/embedded/processes.ts';
import { type Found, unpackProgram } from './debian-programs.ts';

const exec = promisify(execFile);

export interface EmbeddedS3 extends AsyncDisposable {
  readonly port: number;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Adds keys to the listing of a bucket; the objects cannot be read. */
  fill(bucket: string, keys: readonly string[]): Promise<void>;
  /** `kill -9`, and it stays down until `restart`. */
  kill9(): Promise<void>;
  /** Stops it if it runs, and starts it on the same port with the same files. */
  restart(): Promise<void>;
}

/** Debian's Python and no other: the package's compiled parts are for that one. */
export function findS3(): Promise<Found> {
  return unpackProgram('python3', 'python3-swift', (path) => exec(path, ['-c', 'import swift.common.wsgi']));
}

/** The folder must be on a file system with extended attributes. */
export async function startS3({ dir }: { dir: string }): Promise<EmbeddedS3> {
  const found = await findS3();
  if (found.path === null) throw new Error(`There is no S3 server: ${found.reason}.`);
  const ports = await fourPorts();
  const python = found.path;
  const line = [
    python,
    fileURLToPath(new URL('s3-server.py', import.meta.url)),
    dir,
    ACCESS_KEY,
    SECRET_KEY,
    ...ports.map(String),
  ];
  await mkdir(dir, { recursive: true });
  let child = await launch(line, dir);
  const stop = () => endChild(child, ['SIGKILL']);
  return {
    port: ports[0],
    accessKeyId: ACCESS_KEY,
    secretAccessKey: SECRET_KEY,
    async fill(bucket, keys) {
      const filling = exec(python, [fileURLToPath(new URL('s3-fill.py', import.meta.url)), dir, 'AUTH_tests', bucket]);
      filling.child.stdin?.end(keys.join('\n'));
      await filling;
    },
    kill9: stop,
    async restart() {
      await stop();
      child = await launch(line, dir);
    },
    [Symbol.asyncDispose]: stop,
  };
}

const ACCESS_KEY = 'tests:writer';
const SECRET_KEY = 'right-secret-of-s3';

/** For the S3 interface, and for the three stores behind it. */
async function fourPorts(): Promise<[number, number, number, number]> {
  const ports = new Set<number>();
  while (ports.size < 4) ports.add(await freePort());
  const [s3 = 0, account = 0, container = 0, object = 0] = ports;
  return [s3, account, container, object];
}

async function launch(line: string[], dir: string): Promise<ChildProcess> {
  const log = join(dir, 'swift.log');
  await using file = await open(log, 'w');
  const [command = '', ...args] = tiedToParent('KILL', line);
  const child = spawn(command, args, { detached: true, stdio: ['ignore', file.fd, file.fd] });
  await once(child, 'spawn');
  const deadline = Date.now() + 30_000;
  while (!(await readFile(log, 'utf8')).includes('ready\n')) {
    if (hasExited(child) || Date.now() > deadline)
      throw new Error(`Swift did not start; it said:\n${await readFile(log, 'utf8')}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return child;
}
