import type { Pool } from '#shared/db/pool.ts';
import { newID } from '#shared/ids.ts';
import type { Logger } from '#shared/logger.ts';
import { nodes } from '#shared/nodes/index.ts';

const VERSION = '1';

export interface HeldRow {
  id: string;
  epoch: number;
  wake_seq: number;
}

export interface Lease extends AsyncDisposable {
  readonly id: string;
  /** Creates the lease and keeps renewing it until disposed. */
  open(): Promise<void>;
  /** Stops renewing and ends the lease. */
  end(): Promise<void>;
}

export interface LeaseOptions {
  pool: Pool;
  slots: number;
  /** How long the lease outlives the last renewal. */
  leaseMs: number;
  logger: Logger;
  /** The lease was lost: the runs that this process holds belong to other workers. */
  onLost(): void;
  /** Called after each renewal with the runs that the database has for this lease, as of `asOf` (ms). */
  onRenewed(held: HeldRow[], asOf: number): Promise<void>;
}

/** A row per worker process: the lease under which it holds runs. Only the database's clock counts. */
export function createLease({ pool, slots, leaseMs, logger, onLost, onRenewed }: LeaseOptions): Lease {
  let id = newID();
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  let lastGood = 0;

  async function begin(): Promise<void> {
    id = newID();
    await pool.query(
      `insert into worker_session (id, expires_at, slots, version, kinds) values ($1, now() + make_interval(secs => $2), $3, $4, $5)`,
      [id, leaseMs / 1000, slots, VERSION, nodes.map(({ kind }) => kind)],
    );
    lastGood = performance.now();
  }

  async function renew(): Promise<void> {
    const asOf = Date.now();
    const started = performance.now();
    const { rowCount } = await pool.query(
      `update worker_session set expires_at = now() + make_interval(secs => $2) where id = $1 and ended_at is null`,
      [id, leaseMs / 1000],
    );
    if (rowCount === 0) {
      logger.warn({ leaseID: id }, 'the lease was ended by another worker; a new one begins');
      onLost();
      await begin();
      return;
    }
    lastGood = started;
    const { rows } = await pool.query<HeldRow>('select id, epoch, wake_seq from workflow_instance where held_by = $1', [
      id,
    ]);
    await onRenewed(rows, asOf);
  }

  function schedule(): void {
    timer = setTimeout(async () => {
      try {
        await renew();
      } catch (error) {
        logger.warn({ err: error }, 'the lease was not renewed');
        // Runs stay held: without the database nothing can be written, and afterwards the fence decides.
        if (performance.now() - lastGood > leaseMs * 2) logger.error('no database for two lease lengths');
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
    async open() {
      await begin();
      schedule();
    },
    end,
    [Symbol.asyncDispose]: end,
  };
}
