import { z } from 'zod';
import { looseObject } from '#shared/core/record.ts';
import { WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { Message } from '../../../http/fields/response-parts.ts';
import { exampleGenerate, exampleGenerated } from '../examples.ts';
import { PlanProblem } from '../plan/schemas.ts';

export const WorkflowGenerate = z
  .object({ aiPrompt: z.string().min(1).max(20_000).describe('What the workflow should do') })
  .meta({ id: 'WorkflowGenerate', examples: [exampleGenerate] });

/** The graph as a model writes it. */
export const GeneratedGraph = z.object({
  title: z.string().min(1).max(255),
  workflowDescription: z.string().max(10_000).nullish(),
  workflowNodes: z.array(WorkflowNode).min(1).max(500),
  workflowEdges: z.array(WorkflowEdge).max(2_000),
  workflowOptions: WorkflowOptions.prefault({}),
});

export const WorkflowGeneration = z
  .object({
    workflow: z
      .object({
        title: z.string(),
        workflowDescription: z.string().nullish(),
        workflowNodes: z.array(looseObject({})),
        workflowEdges: z.array(looseObject({})),
        workflowOptions: looseObject({}),
        draft: z.literal(true),
      })
      .meta({ id: 'GeneratedWorkflow', description: 'As `createWorkflow` takes it' }),
    missing: z
      .array(PlanProblem)
      .describe('What must exist or be allowed before the workflow can be published and run'),
    assumptions: z.array(z.string()),
    message: Message,
  })
  .meta({ id: 'WorkflowGeneration', examples: [exampleGenerated] });
