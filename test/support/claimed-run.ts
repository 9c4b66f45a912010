import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { compileGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import type { Chunk } from '#workers/engine/state/chunk.ts';
import { Run } from '#workers/engine/state/run.ts';

interface Claimed {
  id?: string;
  input?: JsonObject;
  chunk?: Chunk | null;
  creatorID?: string;
}

/** A run as the worker has it that has just claimed it; no database knows it. */
export function aClaimedRun(
  shape: { nodes: object[]; edges: object[] },
  { id = 'run', input = {}, chunk = null, creatorID = 'c' }: Claimed = {},
): Run {
  const graph = runSync(compileGraph(WorkflowNode.array().parse(shape.nodes), WorkflowEdge.array().parse(shape.edges)));
  const ids = {
    id,
    tenant_id: `tenant of ${creatorID}`,
    workflow_id: null,
    version_id: 'v',
    parent_id: null,
    map_id: null,
  };
  const numbers = { epoch: 1, seq: 0, wake_seq: 0, losses: 0, depth: 0 };
  const caller = { type: 'system', id: 'x', origin: 'direct' } as const;
  return new Run(
    { ...ids, ...numbers, deadline_at: new Date(), caller, input, test_mode: null, held_length: null },
    { creatorID, author: null, graph, options: WorkflowOptions.parse({}), policies: [] },
    chunk,
  );
}
