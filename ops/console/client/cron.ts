import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { ListFilter } from '../ui/list-filter.ts';
import { body, rest } from './rest.ts';

const CRON_JOB = '/api/v1/tenants/{tenantID}/cronjobs/{cronJobID}';
const PAGE = 50;

export interface CronJobPlace {
  tenantID: string;
  cronJobID: string;
}

export function cronJobsRead(tenantID: string, filter: ListFilter) {
  return queryOptions({
    queryKey: ['cron-jobs', tenantID, filter],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { ...filter, limit: PAGE } };
      const { cronJobs, nextCursor } = await body(rest.GET('/api/v1/tenants/{tenantID}/cronjobs', { params }));
      return { rows: cronJobs, nextCursor };
    },
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
}

export function cronJobRead(path: CronJobPlace) {
  return queryOptions({
    queryKey: ['cron-job', path],
    queryFn: async () => (await body(rest.GET(CRON_JOB, { params: { path } }))).cronJob,
    refetchInterval: 5_000,
  });
}

export function nextTicksRead(path: CronJobPlace) {
  return queryOptions({
    queryKey: ['cron-job', path, 'next'],
    queryFn: async () =>
      (await body(rest.GET(`${CRON_JOB}/preview`, { params: { path, query: { count: 10 } } }))).preview,
  });
}

export function ticksRead(path: CronJobPlace) {
  return queryOptions({
    queryKey: ['cron-job', path, 'history'],
    queryFn: async () =>
      (await body(rest.GET(`${CRON_JOB}/history`, { params: { path, query: { limit: 50 } } }))).cronJobHistory,
    refetchInterval: 2_000,
  });
}

export async function actOnCronJob(path: CronJobPlace, verb: 'run' | 'pause' | 'resume'): Promise<void> {
  await body<unknown>(rest.POST(`${CRON_JOB}/${verb}` as const, { params: { path } }));
}
