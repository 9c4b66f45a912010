import type { z } from 'zod';
import type { BacklogRow } from '../../fleet/backlog.ts';
import type { Sample } from '../../fleet/ended-runs.ts';
import type { FleetState, TenantState } from '../../fleet/fleet.ts';
import type { Named } from '../../fleet/tenants.ts';
import type { FleetAnswer, FoundTenants, TenantAnswer } from './schemas.ts';

export function presentFleet(state: FleetState): z.input<typeof FleetAnswer> {
  const { restore, backlog, tenants, workers, failures, slowNodes, speeds, hours } = state;
  return {
    restore: restore ? { ...restore, snapshotAt: restore.snapshotAt.toISOString() } : null,
    pausedQueues: [...state.pausedQueues],
    backlog: { at: backlog.at.toISOString(), rows: presentBacklog(allTenants(backlog.rows)) },
    tenants: {
      at: tenants.at.toISOString(),
      rows: tenants.rows.map(({ oldest, pausedAt, ...row }) => ({
        ...row,
        oldest: oldest.toISOString(),
        pausedAt: pausedAt?.toISOString() ?? null,
      })),
    },
    workers: {
      at: workers.at.toISOString(),
      rows: workers.rows.map(({ startedAt, endedAt, ...row }) => ({
        ...row,
        startedAt: startedAt.toISOString(),
        endedAt: endedAt?.toISOString() ?? null,
      })),
    },
    failures: {
      at: failures.at.toISOString(),
      sample: presentSample(failures.sample),
      rows: failures.rows.map(({ lastAt, ...row }) => ({ ...row, lastAt: lastAt.toISOString() })),
    },
    slowNodes: {
      at: slowNodes.at.toISOString(),
      sample: presentSample(slowNodes.sample),
      rows: [...slowNodes.rows],
    },
    speeds: { at: speeds.at.toISOString(), sample: presentSample(speeds.sample), rows: [...speeds.rows] },
    hours: {
      at: hours.at.toISOString(),
      rows: hours.rows.map(({ hour, ...row }) => ({ hour: hour.toISOString(), ...row })),
    },
  };
}

export function presentTenantState(state: TenantState): z.input<typeof TenantAnswer> {
  const { at, pausedAt, pausedQueues, backlog, runs, ...tenant } = state;
  return {
    ...tenant,
    pausedQueues: [...pausedQueues],
    at: at.toISOString(),
    pausedAt: pausedAt?.toISOString() ?? null,
    backlog: presentBacklog(backlog),
    runs: runs.map(({ since, reason, ...run }) => ({ ...run, since: since.toISOString(), reason: reason ?? null })),
  };
}

export function presentFound(tenants: readonly Named[]): z.input<typeof FoundTenants> {
  return {
    tenants: tenants.map(({ pausedAt, ...tenant }) => ({ ...tenant, pausedAt: pausedAt?.toISOString() ?? null })),
  };
}

/** The backlog of all tenants, summed by queue, class and state. */
function allTenants(rows: readonly BacklogRow[]): BacklogRow[] {
  const found = new Map<string, BacklogRow>();
  for (const row of rows) {
    const key = `${row.queue} ${row.class} ${row.state}`;
    const known = found.get(key);
    if (!known) found.set(key, row);
    else
      found.set(key, {
        ...known,
        count: known.count + row.count,
        oldest: new Date(Math.min(row.oldest.getTime(), known.oldest.getTime())),
        isCut: known.isCut || row.isCut,
      });
  }
  return [...found.values()].toSorted((one, other) => one.oldest.getTime() - other.oldest.getTime());
}

function presentBacklog(rows: readonly BacklogRow[]) {
  return rows.map(({ tenantID: _, oldest, ...row }) => ({ ...row, oldest: oldest.toISOString() }));
}

function presentSample({ runs, since }: Sample) {
  return { runs, since: since?.toISOString() ?? null };
}
