import { z } from 'zod';
import { JsonObject } from './json.ts';
import { IterationPath } from './workflow/frame.ts';

/** Of code, of a statement, or of an answer. */
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

/** What an error of a node has beside its code and message, as far as there is something to say. */
export const moreOfError = { details, cause: ErrorCause.optional() };

/** What an error of a run has beside those. Absent in rows of earlier versions. */
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

/** The details of an error that another one has led to. */
export function causedBy({ details, ...cause }: ErrorCause): JsonObject {
  return { cause: { ...cause, ...(details && { details }) } as unknown as JsonObject };
}
