import type { Pool } from '#shared/db/pool.ts';

/** Below the time limit of a test, so that a failure says what it waited for. A busy machine may take long for anything. */
const TIMEOUT_MS = 90_000;

/** The longest pause between two looks. */
const MAX_PAUSE_MS = 100;

interface Unsettled {
  what: string;
  n: number;
}

/** Returns when no run is ready, held, due or waiting for a child; fails in the end, naming what is left. */
export async function settle(pool: Pool, timeoutMs = TIMEOUT_MS): Promise<void> {
  await eventually(async () => {
    const { rows } = await pool.query<Unsettled>(LEFT);
    const left = rows.filter(({ n }) => n > 0);
    if (left.length > 0) throw new Error(`Not settled: ${left.map(({ what, n }) => `${n} ${what}`).join(', ')}`);
  }, timeoutMs);
}

/** Repeats `check` until it does not throw, the less often the longer it lasts; throws its last error when patience ends. */
export async function eventually(check: () => Promise<void> | void, timeoutMs = TIMEOUT_MS): Promise<void> {
  const began = Date.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const lasted = Date.now() - began;
      if (lasted > timeoutMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(MAX_PAUSE_MS, 10 + lasted / 10)));
    }
  }
}

const LEFT = `
select 'ready' as what, count(*) as n from workflow_instance where ready_at is not null
union all select 'held', count(*) from workflow_instance where held_by is not null
union all select 'due', count(*) from workflow_instance where wake_at <= now() + interval '3 seconds'
union all select 'waiting for a child that has ended', count(*) from run_wait w join workflow_instance c on c.id = w.ref where w.kind = 'child' and c.completed_at is not null`;
