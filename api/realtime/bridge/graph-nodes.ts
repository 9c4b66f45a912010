import { LRUCache } from 'lru-cache';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import { checkNode } from '#shared/workflow/graph/check-node.ts';
import { WorkflowNode } from '#shared/workflow/graph/graph.ts';
import type { AnyNode } from '#shared/workflow/nodes/index.ts';

/** The part of a node that a bridge needs. */
export interface GraphPart {
  kind: string;
  definition: AnyNode;
  /** Parsed as the engine parses it. */
  config: unknown;
  outputVariable: string | null;
}

export type GraphParts = ReadonlyMap<string, GraphPart>;
export type ReadGraphParts = (version: { tenantID: string; versionID: string }) => Promise<GraphParts>;

/** Limits of the cache. A version never changes, so a cached one is never stale. */
const limits = { max: 1_000, maxSize: 8_000_000 };

export function createGraphParts(pool: Pool): ReadGraphParts {
  const versions = new LRUCache<string, { parts: GraphParts; size: number }, string>({
    ...limits,
    sizeCalculation: ({ size }) => Math.min(size, limits.maxSize),
    ignoreFetchAbort: true,
    fetchMethod: (versionID, _stale, { context: tenantID }) => readParts(pool, tenantID, versionID),
  });
  return async ({ tenantID, versionID }) => (await versions.forceFetch(versionID, { context: tenantID })).parts;
}

async function readParts(pool: Pool, tenantID: string, versionID: string) {
  const { rows } = await pool.query<{ nodes: unknown; length: number }>(
    'select nodes, octet_length(nodes::text) as length from workflow_version where id = $1 and tenant_id = $2',
    [versionID, tenantID],
  );
  const nodes = WorkflowNode.array().parse(rows[0]?.nodes ?? []);
  const parts = new Map<string, GraphPart>();
  for (const node of nodes) {
    const { definition, config } = runSync(checkNode(node));
    const name = isJsonObject(config) ? config.outputVariable : null;
    if (definition)
      parts.set(node.id, {
        kind: node.type,
        definition,
        config,
        outputVariable: typeof name === 'string' ? name : null,
      });
  }
  return { parts, size: 1_000 + 2 * (rows[0]?.length ?? 0) };
}
