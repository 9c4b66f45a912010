import { quote } from '../../core/quote.ts';
import type { Issue } from '../../core/schema/issues.ts';
import { exitOfHandle } from '../nodes/exits.ts';
import { elseExitOf } from '../nodes/properties.ts';
import type { CheckedNode } from './check-node.ts';

interface Edge {
  id: string;
  source: string;
  target: string;
  sourceHandle?: string | null | undefined;
}

export interface CheckedEdge {
  /** The edge by indices; undefined if one of its nodes is missing. The exit is '' if the source has no exit of that name. */
  readonly link: { id: string; source: number; target: number; exit: string } | undefined;
  readonly issues: readonly Issue[];
}

export interface EdgeContext {
  readonly nodes: readonly CheckedNode[];
  readonly indexOf: ReadonlyMap<string, number>;
}

/** Checks that an edge leads from an exit of its source to a node that can be entered. */
export function checkEdge(edge: Edge, { nodes, indexOf }: EdgeContext): CheckedEdge {
  const source = indexOf.get(edge.source) ?? -1;
  const target = indexOf.get(edge.target) ?? -1;
  const from = nodes[source];
  const to = nodes[target];
  const issues: Issue[] = [];
  if (!from) issues.push({ path: ['source'], message: `there is no node ${quote(edge.source)}` });
  if (!to) issues.push({ path: ['target'], message: `there is no node ${quote(edge.target)}` });
  if (from?.definition?.ends) issues.push({ path: ['source'], message: 'an end node cannot have outgoing edges' });
  if (to?.definition?.begins) issues.push({ path: ['target'], message: 'the start node cannot have incoming edges' });

  const exit = from && findExit(from, edge.sourceHandle);
  if (exit === undefined && from?.exits?.size) issues.push(undeclared(from.exits, edge.sourceHandle));
  return { link: from && to ? { id: edge.id, source, target, exit: exit ?? '' } : undefined, issues };
}

/** The exit of an edge; undefined if the node has no exit of that name. */
function findExit({ definition, config, exits }: CheckedNode, handle: string | null | undefined): string | undefined {
  if (!definition || !exits) return undefined;
  const { usualExit, exitAliases } = definition;
  const ofKind = typeof usualExit === 'string' ? usualExit : undefined;
  return exitOfHandle({ exits, usualExit: ofKind, elseExit: elseExitOf(definition, config), exitAliases }, handle);
}

/** Exits that a message names. */
const maxNamed = 20;

function undeclared(exits: ReadonlySet<string>, handle: string | null | undefined): Issue {
  const known = [...exits.values().take(maxNamed)].map(quote);
  if (exits.size > maxNamed) known.push('…');
  const message = handle ? `there is no exit ${quote(handle)}, only` : 'must name an exit:';
  return { path: ['sourceHandle'], message: `${message} ${known.join(', ')}` };
}
