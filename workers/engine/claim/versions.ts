import { LRUCache } from 'lru-cache';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import type { Actor } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Pool } from '#shared/db/pool.ts';
import { compileStored, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { nodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import type { LoadedVersion } from '../state/run.ts';

/** Compiled versions in the memory of this process; a version never changes, so an entry is never stale. */
const MAX_VERSIONS = 500;
/** Length of the texts of all cached versions. Compiled, a version takes a few times as much. */
const MAX_LENGTH = 32_000_000;

export type LoadVersion = (versionID: string) => Promise<LoadedVersion>;

export function createVersions(pool: Pool, { maxLength = MAX_LENGTH } = {}): LoadVersion {
  const loaded = new LRUCache<string, Promise<LoadedVersion>>({ max: MAX_VERSIONS, maxSize: maxLength });

  return (versionID) => {
    const known = loaded.get(versionID);
    if (known) return known;
    const reading = loadVersion(pool, versionID);
    const version = reading.then(({ loaded: compiled }) => compiled);
    loaded.set(versionID, version, { size: 1 });
    reading.then(
      ({ length }) => {
        // The cache ignores a new size for a value that it already has.
        loaded.delete(versionID);
        loaded.set(versionID, version, { size: Math.max(length, 1) });
      },
      () => loaded.delete(versionID),
    );
    return version;
  };
}

/** The error for nodes of kinds that this worker does not know, because a newer release has saved or accepted them. */
export class UnknownKinds extends AppError {
  readonly kinds: readonly string[];

  constructor(kinds: readonly string[]) {
    super('UNAVAILABLE', `This worker does not know nodes of the kind ${kinds.join(', ')}`);
    this.kinds = kinds;
  }
}

const knownKinds: ReadonlySet<string> = new Set(nodes.map(({ kind }) => kind));

async function loadVersion(pool: Pool, versionID: string): Promise<{ loaded: LoadedVersion; length: number }> {
  const { rows } = await pool.query<{
    nodes: unknown;
    edges: unknown;
    options: unknown;
    length: number;
    creator_id: string;
    author_id: string | null;
    key_id: string | null;
  }>(
    `select v.nodes, v.edges, v.options, t.creator_id, v.creator_id as author_id, v.created_by_api_key_id as key_id,
            length(v.nodes::text) + length(v.edges::text) + length(v.options::text) as length
     from workflow_version v join tenant t on t.id = v.tenant_id where v.id = $1`,
    [versionID],
  );
  const row = rows[0];
  if (!row) throw new AppError('NOT_FOUND', 'The version of the workflow this run was started with no longer exists');
  const saved = WorkflowNode.array().parse(row.nodes);
  const unknown = new Set(saved.map(({ type }) => type).filter((type) => !knownKinds.has(type)));
  if (unknown.size > 0) throw new UnknownKinds([...unknown]);
  const graph = await runCooperatively(compileStored(saved, WorkflowEdge.array().parse(row.edges)));
  const options = WorkflowOptions.parse(row.options);
  return {
    loaded: {
      creatorID: row.creator_id,
      author: authorOf(row),
      graph,
      options,
      policies: graph.nodes.map((node) => nodePolicy(node, options)),
    },
    length: row.length,
  };
}

function authorOf({ author_id: id, key_id: keyID }: { author_id: string | null; key_id: string | null }): Actor | null {
  if (id === null) return null;
  return keyID === null ? { type: 'user', id, userID: id } : { type: 'apiKey', id: keyID, userID: id };
}
