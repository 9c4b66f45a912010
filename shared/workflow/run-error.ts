import { z } from 'zod';
import { JsonObject } from '../core/json.ts';
import { IterationPath } from './progress/iteration-path.ts';

/** Details of an error in code, in a statement, or in a response. */
const details = JsonObject.optional().describe('Such as `line` and `column` of code, or the `status` of an answer');

const ErrorCause = z
  .object({
    code: z.string(),
    message: z.string(),
    nodeID: z.string().nullish(),
    frame: IterationPath.optional(),
    attempt: z.int().nullish(),
    instanceID: z.uuid().optional().describe('The run that has failed, if it is another one'),
    details,
    cause: JsonObject.optional().describe('What led to this, in the same form'),
  })
  .meta({ id: 'ErrorCause', description: 'The error of a sub-workflow, or of an item, that led to another' });
export type ErrorCause = z.infer<typeof ErrorCause>;

/** Fields of an error of a node beside its code and message; each is optional. */
export const moreOfError = { details, cause: ErrorCause.optional() };

/** Further fields of an error of a run. Absent in rows of earlier versions. */
export const moreOfRunError = {
  frame: IterationPath.optional().describe('The iterations around the node'),
  ...moreOfError,
};

/** An error as it is stored with the outcome of an attempt. */
export interface ShownError {
  code: string;
  message: string;
  details?: JsonObject | undefined;
  cause?: ErrorCause | undefined;
}

/** The error of a run, as it is stored with its end. */
export interface RunError extends ShownError {
  nodeID: string | null;
  attempt: number | null;
  frame?: IterationPath;
}

/** The key of `ctx` under which a node reads the latest error of a failed node before it, if the run went on after that. */
export const ERROR_KEY = 'error';
/** The key of that error in the scope that a map passes to its chunks. There a node may have set a value under `ERROR_KEY`. */
export const ERROR_AROUND_KEY = '__error';

/** Characters of the message of an error in `ctx`. */
const MAX_PASSED = 2_000;

/** An error as later nodes see it. */
export function passedError(
  { code, message, details, cause }: ShownError,
  { nodeID, frame, attempt }: { nodeID: string; frame: IterationPath; attempt: number },
): JsonObject {
  const error = {
    code,
    message: message.slice(0, MAX_PASSED).toWellFormed(),
    nodeID,
    attempt,
    frame,
    ...(details && { details }),
    ...(cause && { cause }),
  };
  // The cast is safe: all of it is JSON.
  return error as unknown as JsonObject;
}

/** The details of an error that name another error as its cause. */
export function causedBy({ details, ...cause }: ErrorCause): JsonObject {
  return { cause: { ...cause, ...(details && { details }) } as unknown as JsonObject };
}
