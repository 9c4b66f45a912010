import { type ChildProcess, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from '#shared/errors.ts';
import type { Logger } from '#shared/logger.ts';
import type { ReadRequest, ReadResult, Reply } from './protocol.ts';

const MAX_RESIDENT_BYTES = 768 * 1024 * 1024;
const LOOK_MS = 100;

/** A reader as the worker sees it. */
export class ReaderProcess {
  readonly #child: ChildProcess;
  #hasEnded = false;

  constructor(folder: string, logger: Logger) {
    this.#child = fork(entry, [], {
      execArgv: [...execArgv, `--allow-fs-read=${folder}/`],
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

  /** The only thing under way in it. What is aborted ends with the process: no parser can be asked to stop. */
  async read(request: ReadRequest, signal: AbortSignal): Promise<ReadResult> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const fail = (error: unknown) => {
      this.kill();
      reject(error);
    };
    const onAbort = () => fail(signal.reason);
    const onExit = () => reject(new AppError('DB_ERROR', 'The file could not be read: its reader broke down'));
    const watch = setInterval(() => void this.#look(fail), LOOK_MS);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#child.once('message', resolve).once('exit', onExit);
    try {
      this.#child.send(request, (error) => error && onExit());
      return resultOf(await promise);
    } finally {
      clearInterval(watch);
      signal.removeEventListener('abort', onAbort);
      this.#child.off('message', resolve).off('exit', onExit);
    }
  }

  /** Limits of the drivers come first; this one holds whatever they forget to count. Where there is no /proc, it does not. */
  async #look(fail: (error: unknown) => void): Promise<void> {
    const text = await readFile(`/proc/${this.#child.pid}/statm`, 'utf8').catch(() => '');
    if (Number(text.split(' ')[1] ?? 0) * 4096 > MAX_RESIDENT_BYTES)
      fail(new AppError('DB_ERROR', 'The query was stopped: it took too much memory'));
  }
}

function resultOf(reply: Reply): ReadResult {
  // Ours, from the text that `collectRows` has made.
  if (reply.kind === 'result') return JSON.parse(reply.json) as ReadResult;
  const { code, message, details } = reply;
  throw new AppError(code, message, { ...(details !== null && { details }) });
}

const entry = fileURLToPath(new URL('./reader.ts', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));

/** It may read the sources, the drivers and the folder of files; write, connect and start processes it may not. */
const execArgv = [
  '--max-old-space-size=384',
  '--permission',
  '--allow-addons',
  ...['workers/', 'shared/', 'node_modules/', 'package.json'].map((path) => `--allow-fs-read=${root}${path}`),
  '--disable-warning=SecurityWarning',
  '--disable-warning=ExperimentalWarning',
];
