import type { JsonObject } from '#shared/core/json.ts';
import type { Branch, Comparison, condition } from '#shared/workflow/nodes/kinds/condition.ts';
import { decide, evaluate, type Test } from '../evaluate-test.ts';
import type { Executor, NodeContext, Task } from '../executor.ts';

export const runCondition: Executor<typeof condition> = (task, context) => choose(task, context, 0);

/** Chooses the first branch from `first` on that holds. Returns a promise only if the sandbox has to evaluate something. */
function choose(task: ConditionTask, context: NodeContext, first: number): Choice | Promise<Choice> {
  const { branches, defaultBranch } = task.config;
  for (const [at, branch] of branches.entries()) {
    if (at < first) continue;
    const answer = holds(branch, task, context);
    if (typeof answer !== 'boolean')
      return answer.then((isTrue) => (isTrue ? choiceOf(branch) : choose(task, context, at + 1)));
    if (answer) return choiceOf(branch);
  }
  return { output: { matched: null, label: null, success: true }, exit: defaultBranch };
}

interface Choice {
  output: JsonObject;
  exit: string;
}

function choiceOf({ id, label, name }: Branch): Choice {
  return { output: { matched: id, label: label ?? name ?? id, success: true }, exit: id };
}

type ConditionTask = Task<typeof condition>;

function holds(branch: Branch, task: ConditionTask, context: NodeContext): boolean | Promise<boolean> {
  // A comparison with this result decides the whole branch: true for OR, false for AND.
  const decisive = branch.conditionLogic === 'OR';
  for (const comparison of branch.conditions) {
    const answer = decide(testOf(comparison));
    if (answer === undefined) return holdsInSandbox(branch, task, context);
    if (answer === decisive) return decisive;
  }
  return !decisive;
}

/** Evaluates a branch with an expression or a pattern of the user, which run in the sandbox. */
async function holdsInSandbox(branch: Branch, task: ConditionTask, context: NodeContext): Promise<boolean> {
  const decisive = branch.conditionLogic === 'OR';
  for (const comparison of branch.conditions) {
    const test = testOf(comparison);
    const answer = decide(test) ?? (await evaluate(test, task, context));
    if (answer === decisive) return decisive;
  }
  return !decisive;
}

function testOf({ operator, leftValue, rightValue }: Comparison): Test {
  return { operator, left: leftValue, right: rightValue, expression: leftValue };
}
