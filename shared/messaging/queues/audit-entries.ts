import { z } from 'zod';
import { OwnJsonObject } from '../../core/json.ts';
import { defineQueue } from './define-queue.ts';

/** Records of audit trails, of several tenants, which an API process has gathered. */
export const auditEntries = defineQueue({
  name: 'audit.entries',
  payload: z.object({ batchID: z.uuid(), records: z.array(OwnJsonObject) }),
  result: z.object({ outcome: z.literal('stored') }),
  attempts: 20,
  backoffMs: 1_000,
  maxStalledCount: 10, // A record that is there already stays as it is.
  isRetained: () => false,
  // The board does not show the requests of a tenant.
  readable: ({ batchID }) => ({ batchID, records: [] }),
  concurrency: 4,
  hasFewJobs: true,
  deadLetters: null,
  jobID: ({ batchID }) => batchID,
});
