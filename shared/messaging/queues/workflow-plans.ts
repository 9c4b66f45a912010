import { z } from 'zod';
import { Json, JsonObject } from '../../core/json.ts';
import { defineRPC } from './define-rpc.ts';

/** Facts that a plan cannot know before the run: a node's output, its exit or failure, an item, or a variable. */
const Dependency = z
  .object({
    nodeID: z.string().optional(),
    variable: z.string().optional(),
    on: z.enum(['output', 'exit', 'failure', 'item', 'variable', 'link']),
  })
  .meta({ id: 'PlanDependency' });
export type Dependency = z.infer<typeof Dependency>;

const PlanState = z.enum(['yes', 'no', 'depends']);

const PlannedValue = z
  .object({
    path: z.string().describe('Of the field in `data`'),
    value: Json.optional().describe('If it follows from the input'),
    isOmitted: z.boolean().optional().describe('The value is too large to be shown'),
    dependsOn: z.array(Dependency).optional(),
  })
  .meta({ id: 'PlannedValue', description: 'A field with a template' });

export const PlannedNode = z
  .object({
    nodeID: z.string(),
    kind: z.string(),
    isReached: PlanState,
    dependsOn: z.array(Dependency).optional().describe('If it depends on something whether the node is reached'),
    exit: z.string().nullable().optional().describe('By which the node is left, if that is decided'),
    items: z.int().optional().describe('Of the list that the node repeats its body for, if that is known'),
    error: z
      .object({ code: z.string(), message: z.string() })
      .meta({ id: 'PlannedError' })
      .optional()
      .describe('With which the node fails if it is reached'),
    values: z.array(PlannedValue).optional(),
  })
  .meta({ id: 'PlannedNode' });
export type PlannedNode = z.input<typeof PlannedNode>;

export const PlannedEdge = z
  .object({ edgeID: z.string(), isTaken: PlanState, dependsOn: z.array(Dependency).optional() })
  .meta({ id: 'PlannedEdge' });
export type PlannedEdge = z.infer<typeof PlannedEdge>;

/** Plans what a run of a version would do with an input. A worker computes what follows from it, and executes nothing that has an effect. */
export const workflowPlans = defineRPC({
  name: 'workflow.plans',
  request: z.object({ tenantID: z.uuid(), versionID: z.uuid(), input: JsonObject }),
  response: z.object({ nodes: z.array(PlannedNode), edges: z.array(PlannedEdge) }),
  timeoutMs: 15_000,
  hasFewJobs: true,
  maxConcurrent: { tenant: 4 },
});
