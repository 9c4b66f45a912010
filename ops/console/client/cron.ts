import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import type { ListFilter } from './list-filter.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const CRON_JOBS = '/api/v1/tenants/{tenantID}/cronjobs';
const CRON_JOB = `${CRON_JOBS}/{cronJobID}` as const;
const BACKFILLS = `${CRON_JOB}/backfills` as const;
const PAGE = 50;

export interface CronJobIDs {
  tenantID: string;
  cronJobID: string;
}

export function cronJobsRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['cron-jobs', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, limit: PAGE } };
      const { cronJobs, nextCursor } = await body(rest.GET(CRON_JOBS, { params }));
      return { rows: cronJobs, nextCursor };
    },
    placeholderData: keepPreviousData,
    refetchInterval: every(15_000),
  });
}

export function cronJobRead(path: CronJobIDs) {
  return queryOptions({
    queryKey: ['cron-job', path],
    queryFn: async () => (await body(rest.GET(CRON_JOB, { params: { path } }))).cronJob,
    refetchInterval: every(5_000),
  });
}

export function nextTicksRead(path: CronJobIDs) {
  return queryOptions({
    queryKey: ['cron-job', path, 'next'],
    queryFn: async () =>
      (await body(rest.GET(`${CRON_JOB}/preview`, { params: { path, query: { count: 10 } } }))).preview,
  });
}

/** Newest first. Who looks through many pages is told of new ones less often. */
export function ticksRead(path: CronJobIDs) {
  return infiniteQueryOptions({
    queryKey: ['cron-job', path, 'history'],
    queryFn: ({ pageParam: cursor }) => {
      const query = { limit: PAGE, ...(cursor && { cursor }) };
      return body(rest.GET(`${CRON_JOB}/history`, { params: { path, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: every((data) => (data && data.pages.length > 1 ? 15_000 : 2_000)),
  });
}

export async function actOnCronJob(path: CronJobIDs, verb: 'run' | 'pause' | 'resume'): Promise<void> {
  await body<unknown>(rest.POST(`${CRON_JOB}/${verb}` as const, { params: { path } }));
}

/** A schedule in words, and its next times. */
export function schedulePreviewRead(tenantID: string, cronJobSchedule: string, timezone: string) {
  return queryOptions({
    queryKey: ['cron-preview', tenantID, cronJobSchedule, timezone],
    queryFn: async () => {
      const given = { cronJobSchedule, count: 5, ...(timezone !== '' && { timezone }) };
      const params = { path: { tenantID } };
      return (await body(rest.POST(`${CRON_JOBS}/preview`, { params, body: given }))).preview;
    },
    enabled: cronJobSchedule !== '',
    staleTime: 60_000,
    retry: false,
  });
}

export async function createCronJob(tenantID: string, job: Schemas['CronJobCreate']): Promise<string> {
  return (await body(rest.POST(CRON_JOBS, { params: { path: { tenantID } }, body: job }))).cronJob.cronJobID;
}

export async function saveCronJob(path: CronJobIDs, change: Schemas['CronJobUpdate']): Promise<void> {
  await body(rest.PATCH(CRON_JOB, { params: { path }, body: change }));
}

export async function deleteCronJob(path: CronJobIDs): Promise<void> {
  await body(rest.DELETE(CRON_JOB, { params: { path } }));
}

export function backfillsRead(path: CronJobIDs) {
  return infiniteQueryOptions({
    queryKey: ['cron-job', path, 'backfills'],
    queryFn: ({ pageParam: cursor }) => {
      const query = { limit: 20, ...(cursor && { cursor }) };
      return body(rest.GET(BACKFILLS, { params: { path, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: every((data) => (data?.pages.some(({ backfills }) => backfills.some(goesOn)) ? 1_000 : false)),
  });
}

function goesOn({ status }: Schemas['CronBackfill']): boolean {
  return status === 'FILLING' || status === 'RUNNING';
}

export async function startBackfill(path: CronJobIDs, from: string, to: string | undefined): Promise<void> {
  await body(rest.POST(BACKFILLS, { params: { path }, body: { from, ...(to && { to }) } }));
}

export async function stopBackfill(path: CronJobIDs & { backfillID: string }): Promise<void> {
  await body(rest.DELETE(`${BACKFILLS}/{backfillID}/stop`, { params: { path } }));
}
