import { expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { type AnyNode, nodes } from '#shared/workflow/nodes/index.ts';
import { condition } from '#shared/workflow/nodes/kinds/condition.ts';
import { switchNode } from '#shared/workflow/nodes/kinds/switch.ts';
import { Operator } from '#shared/workflow/nodes/operators.ts';
import { isPure } from '#shared/workflow/nodes/properties.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { executorOf } from '#workers/nodes/index.ts';

/** One config for each answer of a kind to whether it is pure. */
const configs: [AnyNode, JsonObject][] = [
  ...nodes.map((definition): [AnyNode, JsonObject] => [definition, definition.defaultValue as JsonObject]),
  ...Operator.options.map((operator): [AnyNode, JsonObject] => [
    condition,
    { branches: [{ id: 'a', conditions: [{ operator, leftValue: 'a', rightValue: 'b' }] }] },
  ]),
  ...Operator.options.map((operator): [AnyNode, JsonObject] => [
    switchNode,
    { switchValue: 'a', cases: [{ id: 'a', operator, matchValue: 'b' }] },
  ]),
];

test.each(configs.map(([definition, data]) => [definition.kind, JSON.stringify(data), definition, data] as const))(
  '%s %s is pure if it needs nothing of the worker and does not wait',
  async (_kind, _text, definition, data) => {
    const config = definition.config.parse(data);
    const first = await execute(definition, config);

    expect(first !== 'more').toBe(isPure(definition, config));
    expect(await execute(definition, config)).toEqual(first);
  },
);

/** The outcome, or that the executor parked or used a part of its context. */
async function execute(definition: AnyNode, config: unknown): Promise<JsonObject | 'more'> {
  let used = false;
  const context = new Proxy({} as NodeContext, {
    get: () => {
      used = true;
      return () => Promise.reject(new Error('out of reach'));
    },
  });
  const run = aNodeRun({ scope: Object.freeze({ input: Object.freeze({ a: 1 }) }) });
  const task = { config, run, signal: new AbortController().signal };
  const answer = executorOf(definition)(task, context);
  // The engine computes pure nodes for the commit of the outcome before them, so they have to answer at once.
  if (isPure(definition, config)) expect(answer).not.toBeInstanceOf(Promise);
  const outcome = await Promise.resolve(answer).catch((error: unknown) => {
    if (!used) throw error;
  });
  if (used || outcome === undefined || 'park' in outcome) return 'more';
  // The time of an end is the only value that differs, and no node follows to read it.
  const { completedAt: _moment, ...output } = outcome.output;
  return { exit: outcome.exit, output };
}
