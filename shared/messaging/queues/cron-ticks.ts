import { z } from 'zod';
import { defineQueue } from './define-queue.ts';

/** The alarm of a cron job: its row may have a tick that is due. */
export const cronTicks = defineQueue({
  name: 'cron.ticks',
  payload: z.object({ tenantID: z.uuid(), cronJobID: z.uuid() }),
  result: z.object({ outcome: z.enum(['looked', 'no such job']) }),
  attempts: 1, // The sweep looks every second.
  backoffMs: 0,
  maxStalledCount: 1,
  isKept: () => false,
  deadLetters: null,
  // Alarms of one moment share a look.
  concurrency: 20,
  hasFewJobs: true,
});
