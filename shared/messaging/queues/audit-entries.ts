import { z } from 'zod';
import { OwnJsonObject } from '../../core/json.ts';
import { defineQueue } from './define-queue.ts';

/** A batch of audit records of several tenants, collected by an API process. */
export const auditEntries = defineQueue({
  name: 'audit.entries',
  payload: z.object({ batchID: z.uuid(), records: z.array(OwnJsonObject) }),
  result: z.object({ outcome: z.literal('stored') }),
  attempts: 20,
  backoffMs: 1_000,
  maxStalledCount: 10, // A second delivery changes nothing: records that are stored already stay as they are.
  isRetained: () => false,
  // The board does not show the requests of a tenant.
  readable: ({ batchID }) => ({ batchID, records: [] }),
  concurrency: 4,
  hasFewJobs: true,
  deadLetters: null,
  jobID: ({ batchID }) => batchID,
});
