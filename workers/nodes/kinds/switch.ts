import type { JsonObject } from '#shared/core/json.ts';
import type { SwitchCase, switchNode } from '#shared/workflow/nodes/kinds/switch.ts';
import { decide, evaluate, type Test } from '../evaluate-test.ts';
import type { Executor, NodeContext, Task } from '../executor.ts';

export const runSwitch: Executor<typeof switchNode> = (task, context) => choose(task, context, 0);

interface Choice {
  output: JsonObject;
  exit: string;
}

/** Chooses the first case from `first` on that matches. Returns a promise only if the sandbox has to evaluate something. */
function choose(task: Task<typeof switchNode>, context: NodeContext, first: number): Choice | Promise<Choice> {
  const { switchValue: value, cases } = task.config;
  for (const [at, each] of cases.entries()) {
    if (at < first) continue;
    const test = testOf(each);
    const answer = decide(test);
    if (answer === undefined)
      return evaluate(test, task, context).then((isTrue) => (isTrue ? choiceOf(each) : choose(task, context, at + 1)));
    if (answer) return choiceOf(each);
  }
  return { output: { matched: null, label: null, value, success: true }, exit: 'default' };

  function choiceOf({ id, label = id }: SwitchCase): Choice {
    return { output: { matched: id, label, value, success: true }, exit: id };
  }

  function testOf({ operator, matchValue }: SwitchCase): Test {
    return { operator, left: value, right: matchValue, expression: matchValue };
  }
}
