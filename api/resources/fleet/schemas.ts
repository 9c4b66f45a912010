import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { WaitReason } from '../../runs/wait-schemas.ts';
import { exampleFleet, exampleFound, exampleTenantState } from './examples.ts';

export const TenantID = z.object({ tenantID: idOf('tenant') });

const Moment = z.iso.datetime();
const at = Moment.describe('When this was read');
const Title = z.string().nullable();

const Backlog = z
  .object({
    queue: z.string(),
    class: z.string().nullable().describe('Of runs'),
    state: z
      .string()
      .describe('`queued`, `blocked` by a key, `paused`, `suspect` after a lost worker, or `handed over`'),
    count: z.int(),
    oldest: Moment,
    isCut: z.boolean().describe('There is more than was counted'),
  })
  .meta({ id: 'FleetBacklog', description: 'Work that has not begun' });

const tenantFields = {
  tenantID: z.uuid(),
  tenantTitle: Title,
  running: z.int().describe('Runs that workers have'),
  maxRuns: z.int().nullable().describe('That they may have at once. Null: no limit'),
  pausedAt: Moment.nullable(),
};

export const TenantSearch = z.object({ search: z.string().max(255).default('').describe('Absent: every title') });

export const FoundTenants = z
  .object({ tenants: z.array(z.object(tenantFields).meta({ id: 'FleetFoundTenant' })) })
  .meta({ id: 'FleetFoundTenants', examples: [exampleFound] });

const BusyTenant = z
  .object({ ...tenantFields, waiting: z.int(), oldest: Moment, isCut: z.boolean() })
  .meta({ id: 'FleetTenant' });

const Worker = z
  .object({
    workerID: z.uuid(),
    version: z.string(),
    state: z
      .enum(['live', 'overdue', 'stopped', 'lost'])
      .describe('`overdue`: its lease has run out; `lost`: the lease was never given back'),
    startedAt: Moment,
    endedAt: Moment.nullable(),
    slots: z.int(),
    runs: z.int(),
  })
  .meta({ id: 'FleetWorker' });

const Failure = z
  .object({
    code: z.string(),
    runs: z.int(),
    tenants: z.int(),
    lastTenantID: z.uuid(),
    lastTenantTitle: Title,
    lastInstanceID: z.uuid(),
    lastAt: Moment,
  })
  .meta({ id: 'FleetFailure' });

const SlowNode = z
  .object({
    tenantID: z.uuid(),
    tenantTitle: Title,
    workflowID: z.uuid().nullable(),
    workflowTitle: Title,
    nodeID: z.string(),
    times: z.int(),
    medianMs: z.number(),
    slowestMs: z.number(),
  })
  .meta({ id: 'FleetSlowNode' });

const Percentiles = z.object({ p50: z.int(), p95: z.int(), p99: z.int() }).meta({
  id: 'FleetPercentiles',
  description: 'Half of the values, 95 and 99 in 100 are at most this. In milliseconds',
});

const Speed = z
  .object({
    class: z.string(),
    runs: z.int(),
    waited: Percentiles.describe('From the time from which the runs might begin to their begin'),
    took: Percentiles.describe('From their begin to their end, waits included'),
  })
  .meta({ id: 'FleetSpeed' });

const Hour = z
  .object({
    hour: Moment.describe('Its begin'),
    accepted: z.int(),
    completed: z.int(),
    failed: z.int(),
    cancelled: z.int(),
    isCut: z.boolean().describe('There is more than was counted: the next readings count on'),
  })
  .meta({
    id: 'FleetHour',
    description:
      'Runs that were accepted, and that ended, within the hour. Parts of maps and deleted runs are not counted',
  });

const Sample = z
  .object({ runs: z.int(), since: Moment.nullable() })
  .meta({ id: 'FleetSample', description: 'The newest runs that ended within an hour, as far as they were looked at' });

const PausedQueues = z.array(z.string()).describe('Queues that an operator has paused: workers take no job from them');

const Restore = z
  .object({
    snapshotAt: Moment.describe('The moment of the backup'),
    phase: z.enum(['loading', 'loaded']).describe('`loading`: the restore has not ended'),
  })
  .meta({ id: 'FleetRestore' });

export const FleetAnswer = z
  .object({
    restore: Restore.nullable().describe(
      'A restore from a backup that is not resumed: workers take no work. Null: none',
    ),
    pausedQueues: PausedQueues,
    backlog: z.object({ at, rows: z.array(Backlog) }).meta({ id: 'FleetBacklogs' }),
    tenants: z.object({ at, rows: z.array(BusyTenant) }).meta({ id: 'FleetTenants' }),
    workers: z.object({ at, rows: z.array(Worker) }).meta({ id: 'FleetWorkers' }),
    failures: z.object({ at, sample: Sample, rows: z.array(Failure) }).meta({ id: 'FleetFailures' }),
    slowNodes: z.object({ at, sample: Sample, rows: z.array(SlowNode) }).meta({ id: 'FleetSlowNodes' }),
    speeds: z.object({ at, sample: Sample, rows: z.array(Speed) }).meta({ id: 'FleetSpeeds' }),
    hours: z
      .object({ at, rows: z.array(Hour).describe('The last 24, the current one at the end and without its last 30 s') })
      .meta({ id: 'FleetHours' }),
  })
  .meta({ id: 'Fleet', description: 'What waits, works and fails, as the rows say', examples: [exampleFleet] });

const WaitingRun = z
  .object({
    instanceID: z.uuid(),
    workflowID: z.uuid().nullable(),
    workflowTitle: Title,
    class: z.string(),
    status: z.enum(['PENDING', 'RUNNING', 'WAITING']),
    since: Moment,
    reason: WaitReason.nullable(),
  })
  .meta({ id: 'FleetWaitingRun' });

export const TenantAnswer = z
  .object({ at, ...tenantFields, pausedQueues: PausedQueues, backlog: z.array(Backlog), runs: z.array(WaitingRun) })
  .meta({
    id: 'FleetTenantState',
    description: 'What of a tenant waits, and why: its oldest runs that no worker has',
    examples: [exampleTenantState],
  });
