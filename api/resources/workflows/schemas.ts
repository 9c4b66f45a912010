import { z } from 'zod';
import { atMostParts, exceeds, MAX_SETTINGS } from '#shared/core/json.ts';
import { within } from '#shared/core/schema/issues.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { MAX_PARTS, tooManyParts } from '#shared/core/unstorable.ts';
import { WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { definitionIssues } from '#shared/workflow/inputs.ts';
import { keyIssues } from '#shared/workflow/limits.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { testMode } from '#shared/workflow/test-mode.ts';
import type { FieldAliases } from '../../http/fields/field-aliases.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { Title } from '../../http/fields/text.ts';
import { VersionInBody } from '../../http/fields/version-name.ts';
import { argsOf, runAliases, runInputs } from '../../runs/run-inputs.ts';
import { Stored } from '../../runs/run-schemas.ts';
import {
  exampleSummary,
  exampleWorkflow,
  exampleWorkflowCreate,
  exampleWorkflowTest,
  exampleWorkflowUpdate,
} from './examples.ts';

export const Nodes = z
  .array(WorkflowNode.meta({ id: 'WorkflowNode' }))
  .max(5_000)
  .check(atMostParts(MAX_PARTS))
  .check(({ value, issues }) => {
    const at = value.findIndex((node) => exceeds(node));
    if (at >= 0) issues.push({ code: 'custom', path: [at], input: value[at], message: tooManyParts(MAX_SETTINGS) });
  });

export const Edges = z.array(WorkflowEdge.meta({ id: 'WorkflowEdge' })).max(20_000);

export const Options = WorkflowOptions.meta({ id: 'WorkflowOptions' });

/** The contract names fields differently on create and update; both spellings are accepted everywhere. */
const titleAndGraph = {
  title: Title.optional(),
  workflowTitle: Title.optional(),
  workflowNodes: Nodes.nullish(),
  nodes: Nodes.nullish(),
  workflowEdges: Edges.nullish(),
  edges: Edges.nullish(),
};

export const graphAliases: FieldAliases = {
  workflowNodes: ['workflowNodes', 'nodes'],
  workflowEdges: ['workflowEdges', 'edges'],
};

const draft = z.boolean().default(false).describe('Saves the graph without publishing it; it need not be complete');

const isOfferedAsTool = z
  .boolean()
  .optional()
  .describe('Whether clients of MCP get it as a tool of its own, by its title, with its declared inputs');

const described = {
  isOfferedAsTool,
  workflowDescription: z.string().max(10_000).nullish(),
  workflowOptions: Options.nullish(),
  folderID: idOf('folder').nullish(),
};

export const WorkflowCreate = z
  .object({ ...titleAndGraph, ...described, draft })
  .transform((body, check) => {
    const title = body.title ?? body.workflowTitle;
    if (title === undefined) {
      check.addIssue({ code: 'custom', path: ['title'], message: 'is required' });
      return z.NEVER;
    }
    checkSaved(body.workflowOptions, check);
    return { ...settingsOf(body), ...graphOf(body), title, draft: body.draft };
  })
  .meta({ id: 'WorkflowCreate', examples: [exampleWorkflowCreate] });

/** A field that is undefined keeps its value, and null clears it. */
export const WorkflowUpdate = z
  .object({ ...titleAndGraph, ...described, isDisabled: z.boolean().optional(), draft })
  .transform((body, check) => {
    checkSaved(body.workflowOptions, check);
    return {
      ...settingsOf(body),
      ...graphOf(body),
      title: body.workflowTitle ?? body.title,
      isDisabled: body.isDisabled,
      draft: body.draft,
    };
  })
  .meta({ id: 'WorkflowUpdate', examples: [exampleWorkflowUpdate] });

export const testAliases: FieldAliases = {
  ...runAliases,
  workflowNodes: ['nodes', 'workflowNodes'],
  workflowEdges: ['edges', 'workflowEdges'],
};

const NO_GRAPH = 'is required; in place of a graph, `workflowID` names the stored workflow to test';

export const WorkflowTest = z
  .object({
    nodes: Nodes.optional(),
    workflowNodes: Nodes.optional(),
    edges: Edges.optional(),
    workflowEdges: Edges.optional(),
    workflowOptions: Options.nullish(),
    workflowID: idOf('workflow').nullish().describe('The stored workflow that this is a test of'),
    version: VersionInBody.optional().describe(
      'Without `nodes`: the id or the number of the version of the workflow to test; by default the one saved last',
    ),
    ...runInputs,
    ...testMode,
  })
  .transform((body, check) => {
    const nodes = body.nodes ?? body.workflowNodes;
    const edges = body.edges ?? body.workflowEdges;
    const { workflowOptions: options, workflowID, version, pinned, dryRun, stopAfter } = body;
    const args = argsOf(body, check) ?? {};
    const mode = { pinned, dryRun, ...(stopAfter !== undefined && { stopAfter }) };
    if (!nodes && !edges && workflowID) return { given: null, saved: { workflowID, version }, args, mode };
    const message = workflowID ? 'is required beside the other' : NO_GRAPH;
    if (!nodes) check.addIssue({ code: 'custom', path: ['nodes'], message });
    if (!edges) check.addIssue({ code: 'custom', path: ['edges'], message });
    if (version !== undefined)
      check.addIssue({ code: 'custom', path: ['version'], message: 'cannot stand beside a graph' });
    if (!nodes || !edges || version !== undefined) return z.NEVER;
    return { given: { nodes, edges, options, workflowID: workflowID ?? null }, saved: null, args, mode };
  })
  .meta({ id: 'WorkflowTest', examples: [exampleWorkflowTest] });

export const WorkflowList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
  fields: z.enum(['full', 'summary']).default('full').describe('`summary` leaves the graphs out'),
});

export const SchemasQuery = z.object({ nodeType: z.string().max(255).optional() });

export const WorkflowSummary = z.object({
  id: z.uuid(),
  tenantID: z.uuid(),
  title: z.string(),
  workflowTitle: z.string(),
  workflowDescription: z.string().nullable(),
  workflowOptions: Stored,
  versionID: z.uuid().describe('The version that was saved last, whose graph this is'),
  versionNumber: z.int(),
  publishedVersionID: z.uuid().nullable().describe('The version that is executed; null while there are drafts only'),
  folderID: z.uuid().nullable(),
  creatorID: z.uuid(),
  createdByApiKeyID: z.uuid().nullable(),
  isDisabled: z.boolean(),
  isOfferedAsTool: z.boolean(),
  pausedAt: z.iso.datetime().nullable().describe('Since when runs are kept and none begins; null: not paused'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export const Workflow = WorkflowSummary.extend({
  workflowNodes: z.array(Stored),
  workflowEdges: z.array(Stored),
}).meta({ id: 'Workflow', examples: [exampleWorkflow] });

const ListedWorkflow = Workflow.partial({ workflowNodes: true, workflowEdges: true }).meta({
  id: 'ListedWorkflow',
  examples: [exampleSummary],
});

export const Workflows = z.object({ workflows: z.array(ListedWorkflow), ...pageFields }).meta({ id: 'WorkflowPage' });

/** The nodes and edges by either name; null becomes an empty list. */
function graphOf({ workflowNodes, nodes, workflowEdges, edges }: z.output<z.ZodObject<typeof titleAndGraph>>) {
  return { nodes: cleared(workflowNodes, nodes), edges: cleared(workflowEdges, edges) };
}

function cleared<T>(...lists: (T[] | null | undefined)[]): T[] | undefined {
  const list = lists.find((candidate) => candidate !== undefined);
  return list === null ? [] : list;
}

/**
 * Rejects options with which no run could begin, or that contradict the inputs. Versions that were saved before this
 * check may have such options, and are still read.
 */
function checkSaved(options: WorkflowOptions | null | undefined, check: z.RefinementCtx): void {
  const { inputDefinitions = [], concurrency } = options ?? {};
  const issues = [
    ...within(['inputDefinitions'], definitionIssues(inputDefinitions)),
    ...within(['concurrency', 'key'], concurrency ? keyIssues(concurrency.key, inputDefinitions) : []),
  ];
  for (const { path, message } of issues)
    check.addIssue({ code: 'custom', path: ['workflowOptions', ...path], message });
}

function settingsOf(body: z.output<z.ZodObject<typeof described>>) {
  const { workflowDescription: description, workflowOptions: options, folderID, isOfferedAsTool } = body;
  return { description, options, folderID, isOfferedAsTool };
}
