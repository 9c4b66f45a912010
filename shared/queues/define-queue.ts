import type { z } from 'zod';

/**
 * Payload and failure policy of a queue. A payload is a wire format: fields are only ever added, optional.
 * Two jobs with the same id are one job: this is what makes a double submit harmless.
 */
export interface QueueDefinition<
  Name extends string = string,
  Payload extends z.ZodType = z.ZodType,
  Result extends z.ZodType = z.ZodType,
> {
  readonly name: Name;
  readonly payload: Payload;
  readonly result: Result;
  /** Number of attempts; the wait before the next one grows from `backoffMs`. */
  readonly attempts: number;
  readonly backoffMs: number;
  /** How often a job whose worker vanished is given to another before it fails. */
  readonly maxStalledCount: number;
  /** `nothing` where the row is the record; else how long a failure stays readable on the board. */
  readonly keepFailed: 'nothing' | { ageSeconds: number; count: number };
  /** Jobs at once in one worker process, when that is not the number of its slots: for work that mostly waits for others. */
  readonly concurrency?: number;
  /** The queue that receives a job after its last failure. */
  readonly deadLetters: string | null;
  jobID?(payload: z.output<Payload>): string;
}

export function defineQueue<const Name extends string, Payload extends z.ZodType, Result extends z.ZodType>(
  definition: QueueDefinition<Name, Payload, Result>,
): QueueDefinition<Name, Payload, Result> {
  return definition;
}
