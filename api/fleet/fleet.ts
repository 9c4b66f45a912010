import type { Pool } from '#shared/db/pool.ts';
import { type RestoreHold, readHold } from '#shared/process/restore-hold.ts';
import type { PausedQueues } from '../runs/paused-queues.ts';
import { type BacklogRow, readBacklog } from './backlog.ts';
import {
  type FailureRow,
  readFailures,
  readSample,
  readSlowNodes,
  readSpeeds,
  type Sample,
  type SlowNodeRow,
  type SpeedRow,
} from './ended-runs.ts';
import { type Read, readFresh } from './fresh.ts';
import { createHourCounts, type HourRow } from './hours.ts';
import { findTenant, findTenants, type Named, readTenants, type TenantRow } from './tenants.ts';
import { readWaitingRuns, type WaitingRun } from './waiting-runs.ts';
import { readWorkers, type WorkerRow } from './workers.ts';

const FRESH_MS = 2_000;
/** Figures about ended work cost more to read, so they may be older. */
const FRESH_PAST_MS = 20_000;

export interface FleetState {
  restore: RestoreHold | undefined;
  pausedQueues: readonly string[];
  backlog: Read<{ rows: readonly BacklogRow[] }>;
  tenants: Read<{ rows: readonly TenantRow[] }>;
  workers: Read<{ rows: readonly WorkerRow[] }>;
  failures: Read<{ rows: readonly FailureRow[]; sample: Sample }>;
  slowNodes: Read<{ rows: readonly SlowNodeRow[]; sample: Sample }>;
  speeds: Read<{ rows: readonly SpeedRow[]; sample: Sample }>;
  hours: Read<{ rows: readonly HourRow[] }>;
}

export interface TenantState extends Named {
  pausedQueues: readonly string[];
  backlog: readonly BacklogRow[];
  runs: readonly WaitingRun[];
  at: Date;
}

/** The fleet as people on call see it, from rows. Read at most once in some seconds, however many pages are open. */
export interface FleetView {
  read(): Promise<FleetState>;
  tenants(search: string): Promise<readonly Named[]>;
  /** Undefined for an unknown tenant. */
  tenant(tenantID: string): Promise<TenantState | undefined>;
}

export function createFleetView(pool: Pool, pausedQueues: PausedQueues): FleetView {
  const restore = readFresh(FRESH_MS, async () => ({ hold: await readHold(pool) }));
  const backlog = readFresh(FRESH_MS, async () => ({ rows: await readBacklog(pool) }));
  const tenants = readFresh(FRESH_MS, async () => ({ rows: await readTenants(pool, (await backlog()).rows) }));
  const workers = readFresh(FRESH_MS, async () => ({ rows: await readWorkers(pool) }));
  const sample = readFresh(FRESH_PAST_MS, () => readSample(pool));
  const failures = readFresh(FRESH_PAST_MS, async () => ({ rows: await readFailures(pool), sample: await sample() }));
  const slowNodes = readFresh(FRESH_PAST_MS, () => readSlowNodes(pool));
  const speeds = readFresh(FRESH_PAST_MS, async () => ({ rows: await readSpeeds(pool), sample: await sample() }));
  const countHours = createHourCounts(pool);
  const hours = readFresh(FRESH_PAST_MS, async () => ({ rows: await countHours() }));

  return {
    async read() {
      return {
        restore: (await restore()).hold,
        pausedQueues: await pausedQueues.names(),
        backlog: await backlog(),
        tenants: await tenants(),
        workers: await workers(),
        failures: await failures(),
        slowNodes: await slowNodes(),
        speeds: await speeds(),
        hours: await hours(),
      };
    },

    tenants: (search) => findTenants(pool, search),

    async tenant(tenantID) {
      const found = await findTenant(pool, tenantID);
      if (!found) return undefined;
      // The runs are read now, the backlog some seconds ago.
      const { rows, at } = await backlog();
      const own = rows.filter((row) => row.tenantID === tenantID);
      return {
        ...found,
        pausedQueues: await pausedQueues.names(),
        backlog: own,
        runs: await readWaitingRuns({ pool, pausedQueues }, tenantID),
        at,
      };
    },
  };
}
