import { LRUCache } from 'lru-cache';
import type { Pool } from '#shared/db/pool.ts';
import { WorkflowNode } from '#shared/workflow/graph/graph.ts';
import type { InputDefinition } from '#shared/workflow/inputs.ts';
import { type Governance, governanceOf } from '#shared/workflow/limits.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import { type NamedAsset, namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';

/** A version without its graph, which only workers need. */
export interface ExecutableVersion {
  isEmpty: boolean;
  /** Assets that the caller must be allowed to use; the right to execute the workflow covers the others. */
  assets: readonly NamedAsset[];
  inputDefinitions: readonly InputDefinition[];
  timeoutMs: number;
  governance: Governance;
}

/** Limits of the cache. A version never changes, so a cached one is never stale. */
const limits = { versions: 10_000, bytes: 16_000_000 };

/** Reads a version without the entity manager, which would take 0.3 ms of processor time for each. */
export type ReadExecutableVersion = (version: { tenantID: string; versionID: string }) => Promise<ExecutableVersion>;

export function createExecutableVersions(
  pool: Pool,
  { versions: max, bytes: maxSize } = limits,
): ReadExecutableVersion {
  const versions = new LRUCache<string, ExecutableVersion, string>({
    max,
    maxSize,
    // A version is counted as at most the whole cache, so that a larger one can be cached alone. Two bytes for each
    // character, and some for the objects.
    sizeCalculation: (version) => Math.min(1_000 + 2 * JSON.stringify(version).length, maxSize),
    // A version that is evicted while it is read is still returned.
    ignoreFetchAbort: true,
    fetchMethod: (versionID, _stale, { context: tenantID }) => readVersion(pool, tenantID, versionID),
  });
  return ({ tenantID, versionID }) => versions.forceFetch(versionID, { context: tenantID });
}

async function readVersion(pool: Pool, tenantID: string, versionID: string): Promise<ExecutableVersion> {
  const { rows } = await pool.query<{ nodes: unknown; edges: unknown[]; options: unknown }>(
    'select nodes, edges, options from workflow_version where id = $1 and tenant_id = $2',
    [versionID, tenantID],
  );
  const [row] = rows;
  if (!row) throw new Error(`Version ${versionID} of a workflow does not exist`);
  const nodes = WorkflowNode.array().parse(row.nodes);
  const options = WorkflowOptions.parse(row.options);
  const assets = nodes.flatMap(({ type, data }) => {
    const definition = findNodeKind(type);
    return definition ? namedAssets(definition, data).filter(({ neededBy }) => neededBy === 'caller') : [];
  });
  return {
    isEmpty: nodes.length === 0 && row.edges.length === 0,
    assets,
    inputDefinitions: options.inputDefinitions,
    timeoutMs: runTimeoutMs(options),
    governance: governanceOf(options),
  };
}
