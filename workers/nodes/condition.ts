import { AppError, type ErrorCode } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { Branch, Comparison, condition } from '#shared/nodes/condition.ts';
import type { SandboxRequest } from '../sandbox/pool.ts';
import { compare, toText } from './compare.ts';
import type { Executor, NodeContext, NodeRun, Task } from './executor.ts';

export const runCondition: Executor<typeof condition> = (task, context) => choose(task, context, 0);

/** Answers at once while comparisons decide; a promise only once the sandbox has to. */
function choose(task: ConditionTask, context: NodeContext, first: number): Choice | Promise<Choice> {
  const { branches, defaultBranch } = task.config;
  for (const [at, branch] of branches.entries()) {
    if (at < first) continue;
    const answer = holds(branch, task, context);
    if (typeof answer !== 'boolean')
      return answer.then((isTrue) => (isTrue ? left(branch) : choose(task, context, at + 1)));
    if (answer) return left(branch);
  }
  return { output: { matched: null, label: null, success: true }, exit: defaultBranch };
}

interface Choice {
  output: JsonObject;
  exit: string;
}

function left({ id, label, name }: Branch): Choice {
  return { output: { matched: id, label: label ?? name ?? id, success: true }, exit: id };
}

type ConditionTask = Task<typeof condition>;

function holds(branch: Branch, task: ConditionTask, context: NodeContext): boolean | Promise<boolean> {
  const decisive = branch.conditionLogic === 'OR';
  for (const comparison of branch.conditions) {
    const answer = decide(comparison);
    if (answer === undefined) return holdsInSandbox(branch, task, context);
    if (answer === decisive) return decisive;
  }
  return !decisive;
}

/** Evaluates a branch with an expression or a pattern of the user, which run in the sandbox. */
async function holdsInSandbox(branch: Branch, task: ConditionTask, context: NodeContext): Promise<boolean> {
  const decisive = branch.conditionLogic === 'OR';
  for (const comparison of branch.conditions) {
    const answer = decide(comparison) ?? (await evaluate(requestFor(comparison, task), task, context));
    if (answer === decisive) return decisive;
  }
  return !decisive;
}

/** Undefined when only the sandbox can tell. */
function decide({ operator, leftValue, rightValue }: Comparison): boolean | undefined {
  if (operator === 'matches_regex') return undefined;
  // A value that is no text came from a single template, so there is nothing left to evaluate.
  if (operator === 'expression') return typeof leftValue === 'string' ? undefined : Boolean(leftValue);
  return compare(operator, leftValue, rightValue);
}

const evaluationMs = 5000;

function requestFor({ operator, leftValue, rightValue }: Comparison, { run }: ConditionTask): SandboxRequest {
  const limits = { tenantID: run.tenantID, timeoutMs: Math.min(evaluationMs, run.timeoutMs) };
  const text = toText(leftValue);
  if (operator === 'expression') return { ...limits, code: `return Boolean((\n${text}\n));`, args: argsOf(run) };
  // In the sandbox, because some patterns backtrack without end and would block the event loop of this process.
  const code = 'return new RegExp(pattern).test(text);';
  return { ...limits, code, args: { text, pattern: toText(rightValue) } };
}

function argsOf({ scope, variables }: NodeRun): SandboxRequest['args'] {
  return { ctx: scope, ...(variables.inCode && { vars: variables.values }) };
}

/** Evaluates to false if the tenant's code fails; throws if the sandbox does. */
async function evaluate(
  request: SandboxRequest,
  { signal }: ConditionTask,
  { sandbox }: NodeContext,
): Promise<boolean> {
  try {
    return (await sandbox.run(request, signal)) === true;
  } catch (error) {
    if (!signal.aborted && error instanceof AppError && ownFaults.has(error.code)) return false;
    throw error;
  }
}

const ownFaults: ReadonlySet<ErrorCode> = new Set(['NODE_FAILED', 'NODE_TIMEOUT']);
