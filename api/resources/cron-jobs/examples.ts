import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, cronJobID, workflowID } = exampleIDs;

const cronJobConfig = { workflowID, inputValues: { region: 'north' } };
const schedule = { cronJobSchedule: '0 9 * * 1-5', timezone: 'Europe/Berlin' };
const scheduleDescription = 'every weekday at 09:00, Europe/Berlin';
const nextRunAt = '2026-03-06T08:00:00.000Z';

export const exampleCronJobCreate = {
  cronJobTitle: 'Report of the morning',
  ...schedule,
  cronJobType: 'workflow',
  cronJobConfig,
  overlapPolicy: 'skip',
};
export const exampleCronJobUpdate = { cronJobSchedule: '30 9 * * 1-5' };

export const exampleCronJob = {
  id: cronJobID,
  cronJobID,
  tenantID,
  cronJobTitle: 'Report of the morning',
  cronJobDescription: null,
  ...schedule,
  scheduleDescription,
  cronJobEnabled: true,
  cronJobType: 'workflow',
  cronJobConfig,
  overlapPolicy: 'skip',
  missedRunPolicy: 'skip',
  missedRunWindowSeconds: 86_400,
  jitterSeconds: 0,
  timeoutSeconds: 300,
  retryAttempts: 0,
  retryDelaySeconds: 60,
  state: 'scheduled',
  stopReason: null,
  pausedAt: null,
  stoppedAt: null,
  nextRunAt,
  folderID: null,
  ...exampleCreator,
  ...exampleTimes,
};

export const examplePreviewOf = { ...schedule, count: 2 };
export const examplePreview = {
  ...schedule,
  scheduleDescription,
  runs: [
    { at: nextRunAt, local: '2026-03-06T09:00:00+01:00' },
    { at: '2026-03-09T08:00:00.000Z', local: '2026-03-09T09:00:00+01:00' },
  ],
};

export const exampleTick = {
  id: exampleIDs.cronJobHistoryID,
  cronJobHistoryID: exampleIDs.cronJobHistoryID,
  cronJobID,
  status: 'SUCCESS',
  triggerType: 'SCHEDULED',
  outcome: 'fired',
  reason: null,
  scheduledAt: '2026-03-05T08:00:00.000Z',
  lastScheduledAt: null,
  firedAt: '2026-03-05T08:00:00.041Z',
  startedAt: '2026-03-05T08:00:00.060Z',
  finishedAt: '2026-03-05T08:00:12.310Z',
  nextAttemptAt: null,
  durationMs: 12_250,
  attempts: 1,
  instanceID: exampleIDs.instanceID,
  blockedByInstanceID: null,
  result: { instanceID: exampleIDs.instanceID },
  error: null,
  createdAt: '2026-03-05T08:00:00.041Z',
};

export const exampleCronStatus = { state: 'scheduled', nextRunAt, running: 0, queued: 0 };

const range = { from: '2026-03-02T00:00:00.000Z', to: '2026-03-04T00:00:00.000Z' };
export const exampleBackfillCreate = range;
export const exampleBackfill = {
  id: exampleIDs.backfillID,
  backfillID: exampleIDs.backfillID,
  cronJobID,
  ...range,
  status: 'RUNNING',
  total: 2,
  leftOut: 1,
  isCut: false,
  counts: { SCHEDULED: 1, SUCCESS: 1, FAILURE: 0 },
  filledAt: '2026-03-05T14:05:13.002Z',
  cancelledAt: null,
  cancelledBy: null,
  ...exampleCreator,
  createdAt: exampleTimes.updatedAt,
};
