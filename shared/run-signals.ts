import { z } from 'zod';

/** Channel on which whoever changes a run from outside tells the process that may hold it. */
export const RUN_CHANNEL = 'runs';

export const RunSignal = z.object({ kind: z.enum(['cancelled', 'woken']), instanceID: z.uuid() });
export type RunSignal = z.infer<typeof RunSignal>;
