import { z } from 'zod';
import { PROPOSE_PAGE, PROPOSE_QUERY, PROPOSE_WORKFLOW } from '#shared/apps/ai/tool-calls.ts';
import { quote } from '#shared/core/quote.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import { PageProposal } from './page-proposal.ts';

const Id = z.string().min(1).max(255);
const Connection = z.object({
  source: Id,
  target: Id,
  sourceHandle: z.string().max(255).optional().describe('The exit of the source; absent: its usual one'),
});

const WorkflowProposal = z.object({
  workflowID: z.uuid().nullable().describe('The workflow that is changed; null for a new one'),
  title: z.string().min(1).max(255).optional().describe('Of a new workflow'),
  summary: z.string().min(1).max(2_000).describe('For the user: what changes, and why, in a sentence or two'),
  steps: z
    .array(
      z.object({
        id: Id,
        type: z
          .string()
          .refine((type) => findNodeKind(type) !== undefined, {
            error: ({ input }) => `there is no kind of nodes ${quote(input)}`,
          })
          .describe('The kind'),
        data: z.record(z.string(), z.unknown()).describe('The whole config'),
      }),
    )
    .max(100)
    .default([])
    .describe('Nodes that are added, and nodes that are changed, each whole. Others stay as they are'),
  removedSteps: z.array(Id).max(500).default([]).describe('Ids of nodes. Their edges go with them'),
  connections: z.array(Connection).max(500).default([]).describe('Edges that are added'),
  removedConnections: z.array(Connection).max(500).default([]),
  options: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Options of the workflow that change, for example inputDefinitions; null clears one'),
});

const QueryProposal = z.object({
  datasourceID: z.uuid().nullable().describe("Null: the tenant's own database"),
  title: z.string().min(1).max(255),
  summary: z.string().min(1).max(2_000).describe('For the user: what it answers, in a sentence'),
  dataQueryOptions: z
    .record(z.string(), z.unknown())
    .describe('As create_query takes it; of SQL {"query": the statement, "inputDefinitions": […]}'),
});

/** Tools by which a model proposes something. They change nothing: the client shows the proposal, and the user decides. */
export const proposals = {
  [PROPOSE_WORKFLOW]: {
    description:
      'Propose a change of the workflow that is open in front of the user, or a new workflow. The user sees it as a difference, and applies it to their draft or discards it; nothing is saved or published. Name only what differs. Read the kinds of nodes with get_workflow_schema before. A value that reads "[REDACTED]" is one that you may not see: leave it as it reads.',
    input: WorkflowProposal,
  },
  [PROPOSE_QUERY]: {
    description:
      'Propose a query, new or in place of the one that is open. The user sees it, runs it, and takes it into their form or discards it; nothing is saved or run. Read the tables before, with get_datasource_schema or get_database_metadata. A value that the caller gives is {{inputs.name}}, never between quotes, and declared in inputDefinitions: {"key", "type", "required"}. Prefer statements that only read.',
    input: QueryProposal,
  },
  [PROPOSE_PAGE]: {
    description:
      'Propose a new app page, or a change of one. The user sees its parts and SQL, and creates or applies it, or discards it; nothing is created before. Read the tables and workflows that it uses before, the properties of types of widgets with get_widget_schemas, and the guide on app pages for expressions and actions. A table shows "items": "{{queries.<alias>.data}}", with "isSelectable" others read "{{widgets.<name>.selectedRow.<column>}}"; a form gives "{{event.values.<key>}}" to its onSubmit; TRIGGER_WORKFLOW and EXECUTE_QUERY name an alias; CALL_WIDGET_METHOD with method refresh reads a table again. The page runs all of it as its creator.',
    input: PageProposal,
  },
};
