import { type ChildProcess, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { DECODED, type ReadRequest, type ReadResult, type Reply, type SendRequest } from './protocol.ts';

const MAX_RESIDENT_BYTES = 768 * 1024 * 1024;
const CHECK_MS = 100;

/** A reader process, as the worker sees it. */
export class ReaderProcess {
  readonly #child: ChildProcess;
  #hasEnded = false;

  constructor(folder: string, logger: Logger) {
    this.#child = fork(entry, [], {
      execArgv: [...execArgv, `--allow-fs-read=${folder}/`, `--allow-fs-write=${folder}/${DECODED}*`],
      serialization: 'advanced',
      env: { TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      logger.warn({ pid: this.#child.pid, text: text.slice(0, 2_000) }, 'reader of files wrote to stderr');
    });
    this.#child.once('exit', () => {
      this.#hasEnded = true;
    });
    this.#child.on('error', (error) => {
      this.#hasEnded = true;
      logger.warn({ err: error }, 'reader of files failed');
    });
  }

  get isUsable(): boolean {
    return !this.#hasEnded && this.#child.connected;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    this.#hasEnded = true;
    this.#child.kill('SIGKILL');
  }

  /** Reads one request at a time. An abort kills the process, since parsers cannot be stopped. */
  async read(request: ReadRequest, signal: AbortSignal): Promise<ReadResult> {
    signal.throwIfAborted();
    const announced = await this.#ask(request, signal);
    if (announced.kind !== 'ready') return resultOf(announced);
    try {
      await currentReservation()?.reserve(announced.length);
    } catch (error) {
      // The process would keep the result in memory, which no worker will request any more.
      this.kill();
      throw error;
    }
    signal.throwIfAborted();
    return resultOf(await this.#ask({ kind: 'send' }, signal));
  }

  async #ask(request: ReadRequest | SendRequest, signal: AbortSignal): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const fail = (error: unknown) => {
      this.kill();
      reject(error);
    };
    const onAbort = () => fail(signal.reason);
    const onExit = () =>
      reject(new AppError('DB_ERROR', 'The file could not be read: it may be damaged, or too large to process'));
    const watch = setInterval(() => void this.#checkMemory(fail), CHECK_MS);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#child.once('message', resolve).once('exit', onExit);
    try {
      this.#child.send(request, (error) => error && onExit());
      return await promise;
    } finally {
      clearInterval(watch);
      signal.removeEventListener('abort', onAbort);
      this.#child.off('message', resolve).off('exit', onExit);
    }
  }

  /** Limits the whole memory of the process, also what the drivers' own limits do not count. Does nothing on systems without /proc. */
  async #checkMemory(fail: (error: unknown) => void): Promise<void> {
    const text = await readFile(`/proc/${this.#child.pid}/statm`, 'utf8').catch(() => '');
    // The second field is the resident size in pages of 4096 bytes.
    if (Number(text.split(' ')[1] ?? 0) * 4096 > MAX_RESIDENT_BYTES)
      fail(new AppError('DB_ERROR', 'The query was stopped: it used too much memory'));
  }
}

function resultOf(reply: Reply): ReadResult {
  if (reply.kind === 'ready') throw new Error('A reader announced its result twice');
  // Safe: `collectRows` has made the text.
  if (reply.kind === 'result') return JSON.parse(reply.json) as ReadResult;
  if (reply.kind === 'invalid') throw invalidField(reply.field, reply.message);
  const { message, details } = reply;
  throw new AppError('DB_ERROR', message, { ...(details !== null && { details }) });
}

const entry = fileURLToPath(new URL('./reader/main.ts', import.meta.url));
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The process may read the sources, the drivers and the folder of files. It may not write other than decoded copies, connect or start processes. */
const execArgv = [
  '--max-old-space-size=384',
  '--permission',
  '--allow-addons',
  ...['workers/', 'shared/', 'node_modules/', 'package.json'].map((path) => `--allow-fs-read=${root}${path}`),
  '--disable-warning=SecurityWarning',
  '--disable-warning=ExperimentalWarning',
];
