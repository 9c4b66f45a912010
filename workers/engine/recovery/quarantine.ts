import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Logger } from '#shared/core/logger.ts';
import type { MetricsReport } from '#shared/core/metrics.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Config } from '#shared/process/config.ts';
import { CRASH_SUSPECTED } from '../claim/claim.ts';

const POLL_MS = 1_000;

/** The message from the worker to its child, with everything that the child needs to begin. */
export interface QuarantineStart {
  config: Config;
}

/** The message from the child to its worker, at least once a second. */
export interface QuarantineReport {
  leaseID: string;
  metrics: MetricsReport;
}

export interface Quarantine extends AsyncDisposable {
  start(): void;
  /** The metrics that the child has reported last; empty while there is no child. */
  readonly metrics: MetricsReport;
}

/**
 * Executes crash-suspected runs, whose worker was lost and which have not committed since, in a child process of this worker: one at a time,
 * under a lease of the child's own. If the child dies, it owned nothing else, so its crash counts against that run. No other run waits for a
 * crash-suspected one, because these are not in the queue. The child exists only while there are crash-suspected runs.
 */
export function createQuarantine({ pool, config, logger }: Dependencies): Quarantine {
  let child: QuarantineProcess | undefined;
  let timer: NodeJS.Timeout | undefined;
  let polling = Promise.resolve();
  let isStopping = false;

  async function poll(): Promise<void> {
    try {
      child?.checkAlive(config.worker.leaseMs);
      if (!child && (await hasCrashSuspected(pool)) && !isStopping) launch();
    } catch (error) {
      logger.debug({ err: error }, 'suspects are looked for again in a second');
    }
    if (!isStopping) timer = setTimeout(next, POLL_MS);
  }

  function next(): void {
    polling = poll();
  }

  function launch(): void {
    const launched = new QuarantineProcess(config);
    child = launched;
    logger.info({ pid: launched.pid }, 'a process for suspects starts');
    void launched.ended.then(async (how) => {
      if (child === launched) child = undefined;
      if (how === 'exit code 0' || isStopping) return;
      logger.warn({ pid: launched.pid, how }, 'the process for suspects ended');
      // The process has certainly ended, so its run need not wait until the lease expires.
      await endLease(pool, launched.leaseID).catch((error) =>
        logger.debug({ err: error }, 'the lease of a process for suspects is left to expire'),
      );
    });
  }

  return {
    start: next,
    get metrics() {
      return child?.metrics ?? {};
    },
    async [Symbol.asyncDispose]() {
      isStopping = true;
      clearTimeout(timer);
      await polling;
      await child?.stop();
    },
  };
}

interface Dependencies {
  pool: Pool;
  config: Config;
  logger: Logger;
}

/** The child process, from the side of its worker. */
export class QuarantineProcess {
  leaseID: string | undefined;
  metrics: MetricsReport = {};
  /** Resolves with the end of the process. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  #missedReports = 0;

  constructor(config: Config) {
    // The log lines of the child go where the worker's go. When the worker dies, the channel closes and the child stops.
    this.#child = fork(entry, [], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.ended = endOf(this.#child);
    this.#child.on('message', ({ leaseID, metrics }: QuarantineReport) => {
      this.leaseID = leaseID;
      this.metrics = metrics;
      this.#missedReports = 0;
    });
    const start: QuarantineStart = { config };
    this.#child.send(start, () => undefined);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Called once a second: kills a child that has not reported for the length of a lease. It counts calls, so the sleep of a machine is ignored. */
  checkAlive(leaseMs: number): void {
    this.#missedReports += 1;
    const maxSilenceMs = this.leaseID ? Math.max(leaseMs, 10_000) : MAX_START_MS;
    if (this.#missedReports * POLL_MS > maxSilenceMs) this.#child.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.ended;
  }
}

/** Time for the first report of a child: on a busy machine, or while Postgres is away, it starts slowly. */
const MAX_START_MS = 60_000;

const entry = fileURLToPath(new URL('../../process/quarantine-main.ts', import.meta.url));

async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit');
    return signal ? String(signal) : `exit code ${code}`;
  } catch (error) {
    return `not started: ${error instanceof Error ? error.message : error}`;
  }
}

async function hasCrashSuspected(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    `select exists (select from workflow_instance i where ${CRASH_SUSPECTED}) as found`,
  );
  return rows[0]?.found ?? false;
}

async function endLease(pool: Pool, leaseID: string | undefined): Promise<void> {
  if (leaseID)
    await pool.query('update worker_session set ended_at = now() where id = $1 and ended_at is null', [leaseID]);
}
