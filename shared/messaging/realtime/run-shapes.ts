import { z } from 'zod';
import { moreOfError, moreOfRunError } from '../../workflow/run-error.ts';

/** The error of an attempt. */
export const AttemptErrorShape = z.object({ code: z.string(), message: z.string(), ...moreOfError });

/** The error of a run. */
export const RunErrorShape = AttemptErrorShape.extend({
  nodeID: z.string().nullable(),
  attempt: z.int().nullable(),
  ...moreOfRunError,
});

/** The wait of a run; of several waits, the one that a user can act on. */
export const RunWait = z.object({
  reason: z.enum(['delay', 'input', 'event', 'child']),
  until: z.iso.datetime().optional(),
  collectionRequestID: z.uuid().optional(),
});
export type RunWait = z.infer<typeof RunWait>;
