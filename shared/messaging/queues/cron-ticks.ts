import { z } from 'zod';
import { defineQueue } from './define-queue.ts';

/** The timer of a cron job has fired: its row may have a tick that is due. */
export const cronTicks = defineQueue({
  name: 'cron.ticks',
  payload: z.object({ tenantID: z.uuid(), cronJobID: z.uuid() }),
  result: z.object({ outcome: z.enum(['looked', 'no such job']) }),
  attempts: 1, // The leader polls every second.
  backoffMs: 0,
  maxStalledCount: 1,
  isRetained: () => false,
  deadLetters: null,
  // Timers that fire at the same moment share one poll of the cron jobs.
  concurrency: 20,
  hasFewJobs: true,
});
