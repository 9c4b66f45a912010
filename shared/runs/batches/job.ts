import { z } from 'zod';
import { IterationPath } from '../../workflow/progress/iteration-path.ts';
import { RunFilter } from './filter.ts';

/** The node at which a re-run begins: results of the nodes before it are reused. */
export const RerunFrom = z.union([
  z.enum(['start', 'failed']),
  z.object({ nodeID: z.string(), frame: IterationPath.optional() }),
]);
export type RerunFrom = z.infer<typeof RerunFrom>;

/** The action of a worker on the runs that a filter finds, stored with their batch. */
export const BatchJob = z.discriminatedUnion('does', [
  z.object({
    does: z.literal('rerun'),
    filter: RunFilter,
    from: RerunFrom,
    /** The version to execute: each run's original version, the version that is published when the run is repeated, or one for all. */
    version: z.union([z.enum(['original', 'published']), z.object({ id: z.uuid() })]),
  }),
  z.object({ does: z.literal('cancel'), filter: RunFilter }),
]);
export type BatchJob = z.infer<typeof BatchJob>;
