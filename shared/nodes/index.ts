import { ai } from './ai.ts';
import { approval } from './approval.ts';
import { condition } from './condition.ts';
import { dataCollection } from './data-collection.ts';
import { dataQuery } from './data-query.ts';
import { delay } from './delay.ts';
import { end } from './end.ts';
import { fanout } from './fanout.ts';
import { http } from './http.ts';
import { javascript } from './javascript.ts';
import { join } from './join.ts';
import { log } from './log.ts';
import { loop } from './loop.ts';
import { map } from './map.ts';
import { set } from './set.ts';
import { start } from './start.ts';
import { subWorkflow } from './sub-workflow.ts';
import { switchNode } from './switch.ts';
import { waitForEvent } from './wait-for-event.ts';

/** Every node kind. `workers/nodes/index.ts` holds what each does; the compiler keeps the two in step. */
export const nodes = [
  start,
  dataQuery,
  http,
  javascript,
  ai,
  condition,
  switchNode,
  set,
  fanout,
  join,
  loop,
  map,
  delay,
  dataCollection,
  approval,
  subWorkflow,
  waitForEvent,
  log,
  end,
] as const;

export type AnyNode = (typeof nodes)[number];

const byKind: ReadonlyMap<string, AnyNode> = new Map(nodes.map((node) => [node.kind, node]));

export function findNodeKind(kind: string): AnyNode | undefined {
  return byKind.get(kind);
}
