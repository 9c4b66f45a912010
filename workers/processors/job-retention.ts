/** The setting for BullMQ of a job that has ended: `true` removes it, `false` retains it, an object retains it and evicts those before it. */
export type Retention = boolean | { count: number; age: number };

/** Ended jobs that stay readable on the board: of each queue the last so many, in seconds for so long. */
const RETAINED = { count: 1000, age: 3600 };
/**
 * Jobs of one queue and one end that a process retains: all up to this rate, a sample above it. A retained job costs Redis 0.04 ms more than
 * a removed one. At a thousand jobs a second that would be 4 % of its processor.
 */
const PER_SECOND = 20;
const BURST = 200;
/**
 * Retained jobs for each one that evicts. BullMQ's eviction by number reads a thousand rows on Postgres: at every job it made a job three times as
 * expensive, 3.3 ms instead of 1.2 ms.
 */
const TRIM_EVERY = 64;
const TRIM_MS = 60_000;

/** Decides for each job that has ended whether it is retained. One for each queue and end: completed or failed. */
export function createRetention(now: () => number = () => performance.now()): () => Retention {
  let allowed = BURST;
  let refilledAt = now();
  let untrimmed = TRIM_EVERY;
  let trimmedAt = refilledAt;

  return () => {
    const at = now();
    allowed = Math.min(BURST, allowed + ((at - refilledAt) / 1000) * PER_SECOND);
    refilledAt = at;
    if (allowed < 1) return true;
    allowed -= 1;
    untrimmed += 1;
    if (untrimmed < TRIM_EVERY && at - trimmedAt < TRIM_MS) return false;
    untrimmed = 0;
    trimmedAt = at;
    return RETAINED;
  };
}
