import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { LRUCache } from 'lru-cache';
import type { Logger } from '#shared/core/logger.ts';
import type { Call } from './call.ts';
import type { HostReply, HostRequest } from './protocol.ts';

interface HostEvents {
  onReply(host: HostProcess, reply: HostReply): void;
  onExit(host: HostProcess): void;
}

interface HostOptions {
  /** Calls that the host runs at once, of different tenants. */
  capacity: number;
  owner?: string | undefined;
}

/** A child process that runs user code, as the pool sees it. */
export class HostProcess {
  readonly calls = new Map<number, Call>();
  /** Tenants with a running call. */
  readonly tenants = new Set<string>();
  readonly capacity: number;
  /** The only tenant that it serves; undefined if it serves all. */
  readonly owner: string | undefined;
  /** When it began to serve its owner, by this process's clock. */
  ownedSince = 0;
  /** Timer that ends the host when its owner has been idle for some time. */
  retirement: NodeJS.Timeout | undefined;
  isReady = false;
  hasStarted = false;
  /** Whether the pool has killed it, so that no call is blamed for its exit. */
  isKilled = false;
  readonly #child: ChildProcess;
  /** Tenants for which the host probably has an idle isolate: it caches the last 32. */
  readonly #known = new LRUCache<string, true>({ max: maxKnown });

  constructor({ capacity, owner }: HostOptions, events: HostEvents, logger: Logger) {
    this.capacity = capacity;
    this.owner = owner;
    this.#child = fork(entry, [], {
      execArgv,
      // A round trip of 120 kB takes 0.3 ms, as JSON 3 ms; with little data both take 0.15 ms.
      serialization: 'advanced',
      env: { TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      logger.warn({ pid: this.pid, text: text.slice(0, 2000) }, 'sandbox host wrote to stderr');
    });
    this.#child.on('message', (reply: HostReply) => events.onReply(this, reply));
    this.#child.once('exit', () => events.onExit(this));
    this.#child.on('error', (error) => {
      logger.warn({ err: error, pid: this.pid }, 'sandbox host failed');
      // A process that could not be started has no exit event.
      if (this.pid === undefined) events.onExit(this);
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isFree(): boolean {
    return this.isReady && this.calls.size < this.capacity;
  }

  knows(tenantID: string): boolean {
    return this.#known.has(tenantID);
  }

  run(call: Call): void {
    const { tenantID } = call;
    clearTimeout(this.retirement);
    this.calls.set(call.job.id, call);
    this.tenants.add(tenantID);
    this.#known.set(tenantID, true);
    this.#send({ kind: 'run', ...call.job });
  }

  cancel(call: Call): void {
    this.#send({ kind: 'cancel', id: call.job.id });
  }

  /** Forgets a call that the host has finished. Returns false if it was forgotten before. */
  release(call: Call): boolean {
    clearTimeout(call.watchdog);
    this.tenants.delete(call.tenantID);
    return this.calls.delete(call.job.id);
  }

  start(): void {
    this.isReady = true;
    this.hasStarted = true;
    this.ownedSince = performance.now();
  }

  kill(): void {
    clearTimeout(this.retirement);
    this.isReady = false;
    this.isKilled = true;
    this.#child.kill('SIGKILL');
  }

  async ended(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) await once(this.#child, 'exit');
  }

  #send(request: HostRequest): void {
    // If the process has ended, its exit event makes the pool handle the calls.
    this.#child.send(request, () => undefined);
  }
}

const maxKnown = 32;

const entry = fileURLToPath(new URL('./host.ts', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Limits for code that has escaped from an isolate: the process may not read outside of these folders, write, connect, start
 * processes or threads, or turn strings into code.
 */
const execArgv = [
  '--no-node-snapshot', // isolated-vm needs it
  '--disallow-code-generation-from-strings', // of the host's own context; isolates decide for themselves
  '--permission',
  '--allow-addons',
  `--allow-fs-read=${root}workers/sandbox/`,
  `--allow-fs-read=${root}node_modules/`,
  `--allow-fs-read=${root}package.json`,
  '--allow-fs-read=/etc/alpine-release', // node-gyp-build looks for it
  '--disable-warning=SecurityWarning',
];
