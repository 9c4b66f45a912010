import { invalid } from '#shared/core/schema/issues.ts';
import type { WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import type { Identified } from '../../auth/identify.ts';
import { requireNoBoundary } from '../../auth/permission-boundary.ts';
import type { ApiContext } from '../../context/context.ts';

interface Author {
  tenantID: string;
  identity: Identified;
}

/**
 * Rejects nodes with a tool that their author may not call, because a run calls it with the author's permissions too. A
 * caller whom authors of `ai` nodes limit may not save such nodes: later runs would not have those limits.
 */
export async function requireNamedTools(
  { access: { toolRights } }: Pick<ApiContext, 'access'>,
  { tenantID, identity }: Author,
  nodes: readonly WorkflowNode[] = [],
): Promise<void> {
  const named = nodes.flatMap(namedIn);
  const names = [...new Set(named.map(({ name }) => name))];
  if (names.length > 0) requireNoBoundary(identity, 'nodes with tools');
  const refused = new Set(await toolRights.refused(tenantID, identity, names));
  const issues = named
    .filter(({ name }) => refused.has(name))
    .map(({ name, path }) => ({ path, message: `you are not allowed to use the tool ${name}` }));
  if (issues.length > 0) throw invalid(issues, { code: 'PERMISSION_DENIED' });
}

function namedIn({ type, data }: WorkflowNode, index: number): { name: string; path: (string | number)[] }[] {
  const field = findNodeKind(type)?.tools;
  const tools = field && data[field];
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((name, at) =>
    typeof name === 'string' ? [{ name, path: ['workflowNodes', index, 'data', field ?? '', at] }] : [],
  );
}
