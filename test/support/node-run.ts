import { createLogger } from '#shared/core/logger.ts';
import type { NodeRun } from '#workers/nodes/executor.ts';

/** A run as an executor sees it; what a test does not mention has some valid value. */
export function aNodeRun(given: Partial<NodeRun> = {}): NodeRun {
  return {
    instanceID: 'instance',
    tenantID: 'tenant',
    workflowID: null,
    nodeID: 'node',
    iteration: 0,
    frame: [],
    attempt: 1,
    caller: { type: 'system', id: crypto.randomUUID(), origin: 'direct' },
    author: null,
    scope: {},
    variables: { values: {}, links: {}, secrets: [], inCode: false },
    idempotencyKey: 'instance.node.0',
    timeoutMs: 60_000,
    timeoutSetBy: 'a test',
    isDryRun: false,
    log: createLogger({ level: 'silent' }),
    print: () => undefined,
    ...given,
  };
}
