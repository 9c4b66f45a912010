import type { z } from 'zod';
import type { JsonObject } from '#shared/core/json.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { filter } from '#shared/triggers/listeners/actions.ts';
import type { Comparison } from '#shared/workflow/nodes/kinds/condition.ts';
import { resolveTemplates } from '#shared/workflow/resolve-config.ts';
import { decide, evaluateWith } from '../../../nodes/evaluate-test.ts';
import type { Sandbox } from '../../../sandbox/pool.ts';
import type { ActionContext, RunAction } from './action.ts';
import { runScript, SCRIPT_MS } from './transform-event.ts';

export function createFilter(sandbox: Sandbox): RunAction {
  return async (config, context) => {
    const { script: code, ...conditions } = requireValue(filter.config, config, ['actionConfig']);
    const passes = code
      ? Boolean(await runScript(sandbox, { ...context, code }))
      : await holds(conditions, context, sandbox);
    return passes ? {} : { isFiltered: true };
  };
}

type Conditions = Omit<z.output<(typeof filter)['config']>, 'script'>;

/** Evaluates conditions as a condition node of a workflow does: a pattern or an expression that throws counts as false. */
async function holds(
  { conditionLogic, conditions }: Conditions,
  { tenantID, event, signal }: ActionContext,
  sandbox: Sandbox,
): Promise<boolean> {
  /** A condition with this result decides the whole: true for OR, false for AND. */
  const decisive = conditionLogic === 'OR';
  for (const condition of conditions) {
    const test = testOf(condition, event);
    const evaluation = { tenantID, timeoutMs: SCRIPT_MS, args: { event }, signal };
    if ((decide(test) ?? (await evaluateWith(test, evaluation, sandbox))) === decisive) return decisive;
  }
  return !decisive;
}

function testOf({ operator, leftValue, rightValue }: Comparison, event: JsonObject) {
  const left = resolveTemplates(leftValue, event, { root: 'event' });
  const right = rightValue === undefined ? undefined : resolveTemplates(rightValue, event, { root: 'event' });
  return { operator, left, right, expression: left };
}
