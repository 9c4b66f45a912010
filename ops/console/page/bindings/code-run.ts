import { build, compile, type Outcome } from './compile.ts';
import type { Name } from './expression.ts';

/** Evaluates code with the values that it names. Rejects with words for the person who reads the page. */
export interface CodeRunner {
  run(job: { source: string; scope: readonly Scoped[] }): Promise<unknown>;
}

export type Scoped = Name & { value: unknown };

/** Code at work with these values, or done. */
export interface CodeRun {
  scope: readonly Scoped[];
  value: unknown;
  fault: string | null;
  isPending: boolean;
}

/** Starts code, and tells when it has ended. `before`: the value that is shown until then. */
export function startRun(
  runner: CodeRunner,
  { source, scope, before }: { source: string; scope: readonly Scoped[]; before: unknown },
  onEnd: (run: CodeRun) => void,
): CodeRun {
  const run: CodeRun = { scope, value: before, fault: null, isPending: true };
  const end = (result: Result) => {
    run.isPending = false;
    if ('message' in result) run.fault = result.message;
    else run.value = result.value;
    onEnd(run);
  };
  void resultOf(runner.run({ source, scope })).then(end);
  return run;
}

/** The value of an expression at this moment, computed once. */
export async function computeOnce(
  json: unknown,
  { runner, name }: { runner: CodeRunner; name: (name: Name) => unknown },
): Promise<Outcome> {
  const compiled = compile(json);
  const results = new Map<string, Result>();
  const work = compiled.code.map(async ({ source, names }) => {
    const scope = names.map((one) => ({ ...one, value: orNothing(() => name(one)) }));
    results.set(source, await resultOf(runner.run({ source, scope })));
  });
  await Promise.all(work);
  const code = (source: string) => {
    const result = results.get(source) ?? { message: 'was not evaluated' };
    if ('message' in result) throw new Error(result.message);
    return result.value;
  };
  return { ...build(compiled, { name, code }), isPending: false };
}

type Result = { value: unknown } | { message: string };

async function resultOf(work: Promise<unknown>): Promise<Result> {
  try {
    return { value: await work };
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error) };
  }
}

export function orNothing(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}
