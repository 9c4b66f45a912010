import { z } from 'zod';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { RunStatus } from '#shared/workflow/progress/status.ts';

export const searchedTypes = [
  'workflow',
  'run',
  'dataQuery',
  'datasource',
  'cronJob',
  'listener',
  'appPage',
  'dashboard',
  'widget',
] as const;
export const SearchedType = z.enum(searchedTypes);

const Types = z
  .string()
  .max(200)
  .transform((text) => text.split(','))
  .pipe(z.array(SearchedType));

export const SearchQuery = z.object({
  q: z.string().trim().min(1).max(200).describe('Part of a title; of a run the id, the end of it, or a tag'),
  types: Types.optional().describe('Only these, separated by commas'),
  limit: NumberText(z.int().min(1).max(20)).prefault(6).describe('Of each type'),
});

const Found = z
  .object({
    type: SearchedType,
    id: z.uuid(),
    title: z.string().describe('Of a run the title of its workflow'),
    status: RunStatus.optional().describe('Of a run'),
  })
  .meta({
    id: 'SearchResult',
    examples: [{ type: 'workflow', id: '01990d3e-5c00-7a10-8000-000000000005', title: 'Approve an order' }],
  });

export const SearchResults = z
  .object({ results: z.array(Found) })
  .meta({ id: 'SearchResults', description: 'Those whose titles begin with the text come first' });

/** A number is exact up to `MAX_COUNTED`. */
export const MAX_COUNTED = 100;
export const MAX_SHOWN = 6;

const counted = {
  count: z.int().describe(`At most ${MAX_COUNTED}`),
  isMore: z.boolean().describe(`There are more than ${MAX_COUNTED}`),
};

const DeadLetters = z
  .object({
    ...counted,
    listeners: z
      .array(z.object({ id: z.uuid(), title: z.string(), ...counted }).meta({ id: 'OverviewDeadLettersOfListener' }))
      .describe(`Whose they are: up to ${MAX_SHOWN}, those with the most first`),
  })
  .meta({ id: 'OverviewDeadLetters' });

const Run = z
  .object({
    instanceID: z.uuid(),
    workflowID: z.uuid().nullable(),
    workflowTitle: z.string().nullable().describe('Null if the workflow was never stored or was deleted'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'OverviewRun' });

const Runs = z.object({ ...counted, newest: z.array(Run) }).meta({ id: 'OverviewRuns' });

const RunsByState = z.object({ failed: Runs, running: Runs, waiting: Runs, pending: Runs }).meta({
  id: 'OverviewRunStates',
  description: 'Failed: of those that were accepted in the last 24 hours, and were not run again',
});

const Question = z
  .object({
    collectionRequestID: z.uuid(),
    instanceID: z.uuid(),
    nodeID: z.string(),
    title: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'OverviewQuestion' });

const Questions = z.object({ ...counted, newest: z.array(Question) }).meta({ id: 'OverviewQuestions' });

const StoppedOne = z
  .object({ id: z.uuid(), title: z.string(), reason: z.string().nullable() })
  .meta({ id: 'OverviewStoppedOne' });

const Stopped = z.object({ ...counted, newest: z.array(StoppedOne) }).meta({ id: 'OverviewStopped' });

const PausedWorkflow = z
  .object({ id: z.uuid(), title: z.string(), pausedAt: z.iso.datetime() })
  .meta({ id: 'OverviewPausedWorkflow' });

const Paused = z
  .object({
    isQueuePaused: z.boolean().describe('An operator of the deployment has paused the queue of runs'),
    tenantSince: z.iso.datetime().nullable().describe('Since when the intake of the tenant is paused'),
    workflows: z.object({ ...counted, newest: z.array(PausedWorkflow) }).meta({ id: 'OverviewPausedWorkflows' }),
  })
  .meta({ id: 'OverviewPaused', description: 'Why no run begins' });

const run = {
  instanceID: '01990d3e-5c00-7a10-8000-000000000009',
  workflowID: '01990d3e-5c00-7a10-8000-000000000005',
  workflowTitle: 'Approve an order',
  createdAt: '2026-03-05T14:05:12.480Z',
};
const letters = { id: '01990d3e-5c00-7a10-8000-000000000012', title: 'Orders of the shop', count: 3, isMore: false };
const nothing = { count: 0, isMore: false, newest: [] };

export const HistoryQuery = z.object({
  hours: NumberText(z.int().min(1).max(336)).prefault(24).describe('How far back: 336 are 14 days'),
});

export const MAX_HISTORY_RUNS = 50_000;

const count = z.int();

/** States are those of now: a run that was accepted at nine and ends at eleven is counted at nine. */
const Hour = z
  .object({
    hour: z.iso.datetime().describe('Its beginning, in UTC'),
    completed: count,
    failed: count,
    cancelled: count,
    waiting: count,
    running: count,
    pending: count,
  })
  .meta({ id: 'RunHistoryHour' });

const FailedWorkflow = z
  .object({
    workflowID: z.uuid(),
    workflowTitle: z.string().nullable().describe('Null if the workflow was deleted'),
    count: z.int().describe('Failed runs'),
  })
  .meta({ id: 'RunHistoryWorkflow' });

export const RunHistory = z
  .object({
    since: z.iso.datetime(),
    hours: z.array(Hour).describe('Only hours with runs, the oldest first'),
    failedMost: z
      .array(FailedWorkflow)
      .describe(`Up to ${MAX_SHOWN} workflows, the one with the most failed runs first`),
    isCut: z.boolean().describe('There were more runs than are counted: the oldest are missing'),
  })
  .meta({
    id: 'RunHistory',
    examples: [
      {
        since: '2026-03-04T14:05:12.480Z',
        hours: [
          {
            hour: '2026-03-05T14:00:00Z',
            completed: 120,
            failed: 2,
            cancelled: 0,
            waiting: 1,
            running: 1,
            pending: 0,
          },
        ],
        failedMost: [{ workflowID: run.workflowID, workflowTitle: run.workflowTitle, count: 2 }],
        isCut: false,
      },
    ],
  });

export const Overview = z
  .object({
    restoredFrom: z.iso
      .datetime()
      .nullable()
      .describe(
        'The moment of a backup from which the deployment was restored, until an operator resumes it: nothing goes on',
      ),
    questions: Questions.nullable().describe('That the caller may answer'),
    runs: RunsByState.nullable(),
    paused: Paused.nullable(),
    deadLetters: DeadLetters.nullable().describe('Events of listeners that were given up in the last 24 hours'),
    stoppedCronJobs: Stopped.nullable().describe('By the service, after failures'),
    stoppedListeners: Stopped.nullable().describe('By the service, after failures'),
  })
  .meta({
    id: 'Overview',
    description: 'A part is null if the caller has no right to any of it',
    examples: [
      {
        restoredFrom: null,
        questions: nothing,
        runs: {
          failed: { count: 1, isMore: false, newest: [run] },
          running: nothing,
          waiting: nothing,
          pending: nothing,
        },
        paused: { isQueuePaused: false, tenantSince: null, workflows: nothing },
        deadLetters: { count: 3, isMore: false, listeners: [letters] },
        stoppedCronJobs: nothing,
        stoppedListeners: null,
      },
    ],
  });
