import { z } from 'zod';

/** Channel that tells every API process how far an import in the background is. */
export const IMPORT_CHANNEL = 'import_jobs';

/** Sent to every socket of the user who began the job as `import_job_update`. A lost one changes nothing: the job says the same. */
export const ImportJobUpdate = z.object({
  userID: z.uuid(),
  tenantID: z.uuid(),
  jobID: z.uuid(),
  kind: z.enum(['import', 'rollback']),
  status: z.enum(['RUNNING', 'COMPLETED', 'FAILED']),
  /** Assets written so far, of `total`. Others see them only when all are written. */
  done: z.int(),
  total: z.int().nullable(),
});
export type ImportJobUpdate = z.infer<typeof ImportJobUpdate>;
