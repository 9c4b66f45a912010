import { ai } from './kinds/ai.ts';
import { approval } from './kinds/approval.ts';
import { condition } from './kinds/condition.ts';
import { dataCollection } from './kinds/data-collection.ts';
import { dataQuery } from './kinds/data-query.ts';
import { delay } from './kinds/delay.ts';
import { end } from './kinds/end.ts';
import { fanout } from './kinds/fanout.ts';
import { http } from './kinds/http.ts';
import { javascript } from './kinds/javascript.ts';
import { join } from './kinds/join.ts';
import { log } from './kinds/log.ts';
import { loop } from './kinds/loop.ts';
import { map } from './kinds/map.ts';
import { set } from './kinds/set.ts';
import { start } from './kinds/start.ts';
import { subWorkflow } from './kinds/sub-workflow.ts';
import { switchNode } from './kinds/switch.ts';
import { waitForEvent } from './kinds/wait-for-event.ts';

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
