const at = '2026-11-22T10:24:00.000Z';
const before = '2026-11-22T10:22:41.000Z';
const tenant = { tenantID: '0199f3a0-5c1e-7cc2-9d0f-3b1f7a0c1d01', tenantTitle: 'Acme' };
const workflow = { workflowID: '0199f3a0-5c1e-7cc2-9d0f-3b1f7a0c1d02', workflowTitle: 'Order approval' };
const instanceID = '0199f3a0-5c1e-7cc2-9d0f-3b1f7a0c1d03';
const backlog = [
  { queue: 'workflow.runs', class: 'interactive', state: 'queued', count: 12, oldest: before, isCut: false },
];
const limits = { running: 10, maxRuns: 10, pausedAt: null };
const sample = { runs: 5_000, since: '2026-11-22T10:02:00.000Z' };

export const exampleFleet = {
  restore: null,
  pausedQueues: [],
  backlog: { at, rows: backlog },
  tenants: { at, rows: [{ ...tenant, ...limits, waiting: 12, oldest: before, isCut: false }] },
  workers: {
    at,
    rows: [
      {
        workerID: '0199f3a0-5c1e-7cc2-9d0f-3b1f7a0c1d04',
        version: '2',
        state: 'live' as const,
        startedAt: '2026-11-22T08:00:00.000Z',
        endedAt: null,
        slots: 50,
        runs: 10,
      },
    ],
  },
  failures: {
    at,
    sample,
    rows: [
      {
        code: 'DATASOURCE_ERROR',
        runs: 4,
        tenants: 1,
        lastTenantID: tenant.tenantID,
        lastTenantTitle: 'Acme',
        lastInstanceID: instanceID,
        lastAt: before,
      },
    ],
  },
  slowNodes: {
    at,
    sample: { ...sample, runs: 300 },
    rows: [{ ...tenant, ...workflow, nodeID: 'record', times: 40, medianMs: 812, slowestMs: 4_100 }],
  },
  speeds: {
    at,
    sample,
    rows: [
      {
        class: 'interactive',
        runs: 4_200,
        waited: { p50: 12, p95: 140, p99: 900 },
        took: { p50: 310, p95: 2_400, p99: 8_100 },
      },
    ],
  },
  hours: {
    at,
    rows: [{ hour: '2026-11-22T10:00:00.000Z', accepted: 124, completed: 114, failed: 4, cancelled: 2, isCut: false }],
  },
};

export const exampleFound = { tenants: [{ ...tenant, ...limits }] };

export const exampleTenantState = {
  at,
  ...tenant,
  ...limits,
  pausedQueues: [],
  backlog,
  runs: [
    {
      instanceID,
      ...workflow,
      class: 'interactive',
      status: 'PENDING' as const,
      since: before,
      reason: {
        code: 'tenant-limit' as const,
        message: '12 runs are ahead in this workflow; the limit of the tenant is 10 at once',
        position: 13,
        estimateSeconds: 20,
      },
    },
  ],
};
