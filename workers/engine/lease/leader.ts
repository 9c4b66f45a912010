import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';

const TICK_MS = 500;
/** After this time without a tick of the leader, another process takes the lead. */
const LEAD_MS = 2_000;

export interface Leadership {
  /** Whether this process is the one that sweeps. */
  leads: boolean;
  /**
   * Whether leases may expire. Not before the leaders have ticked for a lease length without a gap: after an outage of Postgres, a
   * suspended machine or a moved clock, the workers need that time to renew.
   */
  mayExpire: boolean;
}

export interface Leader extends AsyncDisposable {
  /** Ticks, and takes the lead if the leader has not ticked for two seconds. */
  tick(): Promise<Leadership>;
  /** Whether this process leads: its last tick said so, and is recent enough that no other process can have taken the lead. */
  readonly leads: boolean;
}

interface LeaderOptions {
  /** Its connections are occupied by no other work: a late tick would look like an outage. */
  pool: Pool;
  leaseMs: number;
  logger: Logger;
  /** Called when this process has taken the lead by its own timer. */
  onLead?: () => void;
}

/**
 * Elects the process that sweeps, by a row in Postgres. Every process ticks twice a second by a timer of its own: the leader so that
 * a long task of the sweep does not look like an outage, the others so that one of them leads within three seconds after the leader died.
 * Disposing gives up the lead.
 */
export function createLeader({ pool, leaseMs, logger, onLead = () => undefined }: LeaderOptions): Leader {
  const id = newID();
  let leads = false;
  let tickedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  let ticking: Promise<void> | undefined;
  const timer = setInterval(() => {
    ticking ??= readLeader().finally(() => {
      ticking = undefined;
    });
  }, TICK_MS).unref();

  async function readLeader(): Promise<void> {
    const ledBefore = leads;
    try {
      await tick();
      if (leads && !ledBefore) onLead();
    } catch (error) {
      logger.debug({ err: error }, 'tick of the sweep failed');
    }
  }

  async function tick(): Promise<Leadership> {
    if (isClosed) return { leads: false, mayExpire: false };
    const sentAt = performance.now();
    const { rows } = await pool.query<{ may_expire: boolean }>({
      name: 'sweep_tick',
      text: TICK,
      values: [id, leaseMs / 1000],
    });
    const [row] = rows;
    if (row && !leads) logger.info({ leader: id }, 'this worker sweeps');
    leads = row !== undefined;
    tickedAt = sentAt;
    return { leads, mayExpire: row?.may_expire ?? false };
  }

  return {
    tick,
    get leads() {
      return leads && performance.now() - tickedAt < LEAD_MS;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearInterval(timer);
      await ticking;
      if (!leads) return;
      leads = false;
      await pool
        .query('update sweep set leader = null where leader = $1', [id])
        .catch((error) => logger.debug({ err: error }, 'the lead of the sweep is left to expire'));
    },
  };
}

/** Condition: the leaders have ticked without a gap, and Postgres has been up, for this many seconds. */
function hasLasted(seconds: string): string {
  return `streak_started_at < now() - make_interval(secs => ${seconds})
  and pg_postmaster_start_time() < now() - make_interval(secs => ${seconds})`;
}

/**
 * Whether leases may expire, for the statement that ends them: between it and the tick that allowed it the machine may have been
 * suspended, or Postgres away.
 */
export function mayExpire(leaseSeconds: string): string {
  return `exists (select from sweep where last_tick > now() - interval '2 seconds' and ${hasLasted(leaseSeconds)})`;
}

// A last tick in the future means that the clock of Postgres was moved back.
const TICK = `
update sweep
set leader = $1::uuid, last_tick = now(),
    streak_started_at = case when last_tick between now() - interval '5 seconds' and now() + interval '1 second' then streak_started_at else now() end
where leader is not distinct from $1::uuid or leader is null
   or last_tick not between now() - interval '2 seconds' and now() + interval '3 seconds'
returning ${hasLasted('$2')} as may_expire`;
