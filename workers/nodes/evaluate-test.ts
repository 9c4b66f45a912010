import { AppError, type ErrorCode } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import { isPlain, type Operator } from '#shared/workflow/nodes/operators.ts';
import type { Sandbox, SandboxRequest } from '../sandbox/pool.ts';
import { compare, toText } from './compare.ts';
import type { NodeContext, NodeRun } from './executor.ts';

/** An operator with its values, their templates resolved. */
export interface Test {
  operator: Operator;
  left: Json;
  right: Json | undefined;
  /** The value that `expression` evaluates. */
  expression: Json;
}

/** Decides a test without the sandbox. Undefined if only the sandbox can decide it. */
export function decide({ operator, left, right, expression }: Test): boolean | undefined {
  if (isPlain(operator)) return compare(operator, left, right);
  // A value that is no text is the value of a single template, so there is no code to evaluate.
  return operator === 'matches_regex' || typeof expression === 'string' ? undefined : Boolean(expression);
}

interface Attempt {
  run: NodeRun;
  signal: AbortSignal;
}

/** Runs a test in the sandbox. False if the tenant's code or pattern fails; throws if the sandbox does. */
export async function evaluate(test: Test, { run, signal }: Attempt, { sandbox }: NodeContext): Promise<boolean> {
  const { tenantID, timeoutMs } = run;
  return evaluateWith(test, { tenantID, timeoutMs, args: argsOf(run), signal }, sandbox);
}

interface EvaluationRequest extends Pick<SandboxRequest, 'tenantID' | 'timeoutMs' | 'args'> {
  signal: AbortSignal;
}

/** Like `evaluate`, for tests outside of workflows: `args` are the values that an expression may name. */
export async function evaluateWith(
  test: Test,
  { signal, ...request }: EvaluationRequest,
  sandbox: Pick<Sandbox, 'run'>,
): Promise<boolean> {
  try {
    return (await sandbox.run(requestFor(test, request), signal)) === true;
  } catch (error) {
    if (!signal.aborted && error instanceof AppError && ownFaults.has(error.code)) return false;
    throw error;
  }
}

const evaluationMs = 5000;

/** Errors of the tenant's code or pattern. */
const ownFaults: ReadonlySet<ErrorCode> = new Set(['NODE_FAILED', 'NODE_TIMEOUT']);

function requestFor(
  { operator, left, right, expression }: Test,
  { tenantID, timeoutMs, args }: Omit<EvaluationRequest, 'signal'>,
): SandboxRequest {
  const limits = { tenantID, timeoutMs: Math.min(evaluationMs, timeoutMs) };
  if (operator === 'expression') return { ...limits, code: `return Boolean((\n${toText(expression)}\n));`, args };
  // Patterns are tested in the sandbox, because some backtrack without end and would block the event loop of this process.
  const code = 'return new RegExp(pattern).test(text);';
  return { ...limits, code, args: { text: toText(left), pattern: toText(right) } };
}

function argsOf({ scope, variables }: NodeRun): SandboxRequest['args'] {
  return { ctx: scope, ...(variables.inCode && { vars: variables.values }) };
}
