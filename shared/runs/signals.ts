import { z } from 'zod';

/** Channel on which a process that cancels or wakes a run signals the worker that may own it. */
export const RUN_CHANNEL = 'runs';

export const RunSignal = z.object({ kind: z.enum(['cancelled', 'woken']), instanceID: z.uuid() });
export type RunSignal = z.infer<typeof RunSignal>;

/** Signals of one message: about 7,300 bytes, and Postgres refuses messages of 8,000 and more. */
export const MAX_SIGNALS = 100;
