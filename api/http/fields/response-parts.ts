import { z } from 'zod';

/** Parts that responses of several resources have. */

export const Message = z.string().meta({ description: 'What was done, for people', examples: ['Done'] });

/** How a query, a node or a run failed. */
export const WorkError = z
  .object({ code: z.string(), message: z.string() })
  .meta({ id: 'WorkError', examples: [{ code: 'UPSTREAM_FAILED', message: 'db.example.com: connection refused' }] });

export const ResultColumn = z
  .object({ name: z.string(), type: z.string() })
  .meta({ id: 'ResultColumn', description: 'A column of the result of a query' });

export const RoleReference = z.object({ roleID: z.uuid(), roleName: z.string() }).meta({ id: 'RoleReference' });

/** A workflow that uses the asset of a response. */
export const WorkflowReference = z
  .object({ workflowID: z.uuid(), workflowTitle: z.string() })
  .meta({ id: 'WorkflowReference' });
