import { splitPermission } from '#shared/access/policy/permissions.ts';
import type { Rights } from '#shared/access/policy/rights.ts';
import { AppError } from '#shared/core/errors.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { assetWords, type NamedAsset, namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import type { Run } from './run.ts';

type AssetUser = Pick<Run, 'tenantID' | 'caller' | 'workflowID'>;

/**
 * Fails a node whose run may not use the assets that it names. The routes have checked the ids in the saved graph, but
 * permissions change while a run waits, and an id that a template made has been checked by no route.
 */
export async function checkAssets(
  rights: Rights,
  run: AssetUser,
  { node, assets }: { node: GraphNode; assets: readonly NamedAsset[] },
): Promise<void> {
  for (const asset of assets) {
    const { permission, type, id } = asset;
    if (await rights.may(run, { permission, object: `${type}:${id}` })) continue;
    if (!(await isIncluded(rights, run, { node, asset }))) throw noSuchAsset(asset);
  }
}

/** Whether the author has put the asset into the workflow, and the caller may still execute the workflow. */
async function isIncluded(
  rights: Rights,
  run: AssetUser,
  { node, asset: { type, id, neededBy } }: { node: GraphNode; asset: NamedAsset },
): Promise<boolean> {
  if (neededBy !== 'author' || run.workflowID === null) return false;
  const saved = namedAssets(node.definition, node.data);
  if (!saved.some((asset) => asset.type === type && asset.id === id)) return false;
  return rights.may(run, { permission: 'workflow.execute', object: `workflow:${run.workflowID}` });
}

/** The error for an asset that does not exist or may not be used. The message is the same, so that it does not tell whether the asset exists. */
export function noSuchAsset({ type, permission }: Pick<NamedAsset, 'type' | 'permission'>): AppError {
  const [, action] = splitPermission(permission);
  const message = `There is no such ${assetWords[type]}, or the caller of this run may not ${action} it`;
  return new AppError('NODE_FAILED', message, { retry: false });
}
