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
  /** Whether a completed job may stay readable on the board. Not if its id may be needed again: a retained job blocks it. */
  isRetained(result: z.output<Result>): boolean;
  /** The payload to show for a job that stays readable. Absent: the payload unchanged. */
  readable?(payload: z.output<Payload>): z.input<Payload>;
  /** Jobs at once in one worker process, if that is not the number of its slots: for work that mostly waits for others. */
  readonly concurrency?: number;
  /** Whether few jobs come: on Postgres a consumer then has one connection for statements instead of two, and the one that listens. */
  readonly hasFewJobs?: boolean;
  /** The queue that receives a job after its last failure. */
  readonly deadLetters: string | null;
  /** The id of the job. Undefined: the job gets a unique id. */
  jobID?(payload: z.output<Payload>): string | undefined;
}

export function defineQueue<const Name extends string, Payload extends z.ZodType, Result extends z.ZodType>(
  definition: QueueDefinition<Name, Payload, Result>,
): QueueDefinition<Name, Payload, Result> {
  return definition;
}
