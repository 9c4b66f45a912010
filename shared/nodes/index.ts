import { condition } from './condition.ts';
import { dataCollection } from './data-collection.ts';
import { dataQuery } from './data-query.ts';
import { delay } from './delay.ts';
import { end } from './end.ts';
import { http } from './http.ts';
import { javascript } from './javascript.ts';
import { start } from './start.ts';
import { subWorkflow } from './sub-workflow.ts';

/** Every node kind. `workers/nodes/index.ts` holds what each does; the compiler keeps the two in step. */
export const nodes = [start, dataQuery, http, javascript, condition, delay, dataCollection, subWorkflow, end] as const;

export type AnyNode = (typeof nodes)[number];
export type NodeKind = AnyNode['kind'];

const byKind: ReadonlyMap<string, AnyNode> = new Map(nodes.map((node) => [node.kind, node]));

export function findNodeKind(kind: string): AnyNode | undefined {
  return byKind.get(kind);
}

/** The handles a node of this kind and config may leave by. */
export function exitsOf(definition: AnyNode, config: unknown): readonly string[] {
  // The config was parsed by this definition's own schema, so the correlation the compiler cannot see holds.
  const exits = definition.exits as readonly string[] | ((config: unknown) => readonly string[]);
  return typeof exits === 'function' ? exits(config) : exits;
}
