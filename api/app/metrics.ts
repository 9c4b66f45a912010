import { createTenantLabel } from '#shared/core/counter.ts';
import { addProcessMetrics, inProcess, type Metrics } from '#shared/core/metrics.ts';
import { addDispatchMetrics } from '#shared/runs/dispatch/metrics.ts';
import type { OwnedApiContext } from './open-context.ts';

/** Adds what a process that serves clients knows about itself. */
export function addAPIMetrics(
  metrics: Metrics,
  name: 'api' | 'mcp',
  { config, pools, asks, runs, requests: { refusals, audit } }: OwnedApiContext,
): Disposable {
  const { add } = metrics;
  const { names: tenant } = createTenantLabel(config.metrics?.tenantIDs);
  const own = inProcess(metrics, name);
  addDispatchMetrics(own, runs);
  add(
    {
      name: 'gantry_asks_total',
      help: 'Requests to a worker that have ended',
      kind: 'counter',
      labels: ['queue', 'outcome', ...tenant],
    },
    () => asks.ended.samples,
  );
  add(
    { name: 'gantry_ask_seconds_total', help: 'Their time', kind: 'counter', labels: ['queue', ...tenant] },
    () => asks.seconds.samples,
  );
  add({ name: 'gantry_asks_waiting', help: 'Questions under way', kind: 'gauge', labels: ['queue'] }, () =>
    [...asks.waiting].map(([queue, value]) => ({ labels: { queue }, value })),
  );
  add(
    {
      name: 'gantry_refusals_total',
      help: 'Requests and events that were refused',
      kind: 'counter',
      labels: ['code', 'reason', ...tenant],
    },
    () => refusals.counts.samples,
  );
  add(
    { name: 'gantry_audit_records_total', help: 'Records of audit trails', kind: 'counter', labels: ['outcome'] },
    () => Object.entries(audit.counts).map(([outcome, value]) => ({ labels: { outcome }, value })),
  );
  return addProcessMetrics(own, pools);
}
