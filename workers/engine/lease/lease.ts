import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';

/** Workers from version 2 on execute test runs by their mode. A trigger keeps test runs from workers of earlier versions. */
const VERSION = '2';

export interface OwnedRow {
  id: string;
  epoch: number;
  wake_seq: number;
}

export interface Lease extends AsyncDisposable {
  readonly id: string;
  /**
   * Whether the lease is valid by this process's own clocks. If not, other workers may have the runs, and no node starts. The
   * monotonic clock stands still while a machine is suspended, and the wall clock may be set: by both, the lease must not have ended.
   */
  readonly isValid: boolean;
  /** Resolves when the lease is valid. */
  untilValid(): Promise<void>;
  /** Creates the lease and keeps renewing it until disposed. */
  open(): Promise<void>;
  /** Stops renewing and ends the lease. */
  end(): Promise<void>;
  /** Totals so far, for metrics. `lost`: leases that another worker has ended. */
  readonly stats: { readonly renewed: number; readonly failed: number; readonly lost: number };
}

export interface LeaseOptions {
  /** Its connections are occupied by no other work, and its statements have a time limit: see `createLeasePool`. */
  pool: Pool;
  slots: number;
  /** How long the lease outlives the last renewal. */
  leaseMs: number;
  logger: Logger;
  /** The lease was lost: the runs that this process owned belong to other workers. */
  onLost(): void;
  /** Called after each renewal with the runs that the database has for this lease, as of `asOf` (ms). */
  onRenewed(owned: OwnedRow[], asOf: number): Promise<void>;
}

/** A row per worker process: the lease under which it owns runs. Whether it has ended is decided by the database alone. */
export function createLease({ pool, slots, leaseMs, logger, onLost, onRenewed }: LeaseOptions): Lease {
  let id = newID();
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  let renewedAt: Instant | undefined;
  let isReconciling = false;
  const stats = { renewed: 0, failed: 0, lost: 0 };
  let renewal = Promise.withResolvers<void>();

  async function begin(): Promise<void> {
    const asOf = now();
    id = newID();
    await pool.query(
      `insert into worker_session (id, expires_at, slots, version, kinds) values ($1, now() + make_interval(secs => $2), $3, $4, $5)`,
      [id, leaseMs / 1000, slots, VERSION, nodes.map(({ kind }) => kind)],
    );
    renewed(asOf);
  }

  async function renew(): Promise<void> {
    const asOf = now();
    const { rowCount } = await pool.query(
      `update worker_session set expires_at = now() + make_interval(secs => $2) where id = $1 and ended_at is null`,
      [id, leaseMs / 1000],
    );
    if (rowCount === 0) {
      logger.warn({ leaseID: id }, 'the lease was ended by another worker; a new one begins');
      renewedAt = undefined;
      stats.lost += 1;
      onLost();
      await begin();
      return;
    }
    stats.renewed += 1;
    renewed(asOf);
    const { rows } = await pool.query<OwnedRow>(
      'select id, epoch, wake_seq from workflow_instance where held_by = $1',
      [id],
    );
    void reconcile(rows, asOf.ofDay);
  }

  /** Has the owned runs compared with the rows. The next renewal does not wait for that. */
  async function reconcile(rows: OwnedRow[], asOf: number): Promise<void> {
    if (isReconciling) return;
    isReconciling = true;
    try {
      await onRenewed(rows, asOf);
    } catch (error) {
      logger.warn({ err: error }, 'runs not compared with the database; the next renewal tries again');
    }
    isReconciling = false;
  }

  function renewed(asOf: Instant): void {
    renewedAt = asOf;
    renewal.resolve();
    renewal = Promise.withResolvers();
  }

  function isValid(): boolean {
    if (!renewedAt) return false;
    const { monotonic, ofDay } = now();
    return monotonic - renewedAt.monotonic < leaseMs && ofDay - renewedAt.ofDay < leaseMs;
  }

  function schedule(): void {
    timer = setTimeout(async () => {
      try {
        await renew();
      } catch (error) {
        stats.failed += 1;
        // Runs stay owned: without the database nothing can be written, and afterwards the fence decides.
        logger.warn({ err: error, isValid: isValid() }, 'the lease was not renewed');
      }
      if (!ended) schedule();
    }, leaseMs / 6);
  }

  async function end(): Promise<void> {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    await pool.query('update worker_session set ended_at = now() where id = $1', [id]).catch((error) => {
      logger.warn({ err: error }, 'the lease is left to expire');
    });
  }

  return {
    get id() {
      return id;
    },
    get isValid() {
      return isValid();
    },
    async untilValid() {
      while (!isValid()) await renewal.promise;
    },
    async open() {
      await begin();
      schedule();
    },
    end,
    stats,
    [Symbol.asyncDispose]: end,
  };
}

/** A moment in ms, by the monotonic clock and by the wall clock. */
interface Instant {
  monotonic: number;
  ofDay: number;
}

function now(): Instant {
  return { monotonic: performance.now(), ofDay: Date.now() };
}
