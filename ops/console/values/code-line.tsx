import { useEffect, useMemo, useState } from 'react';
import { type CodeJob, codeNow } from './code-job.ts';
import type { ValuesHere } from './context.ts';
import type { CodeResult } from './in-sandbox.ts';
import { MAX_SHOWN } from './now-line.tsx';
import { holdSandbox, runCode } from './run-code.ts';
import { samples } from './samples.ts';
import { shortText } from './value.ts';

/** Typing must not start a run for each key. */
const PAUSE_MS = 300;

interface Props {
  value: unknown;
  syntax: 'code' | 'expression';
  here: ValuesHere;
}

/** The value of JavaScript for the present data, or why that is not known. */
export function CodeLine({ value, syntax, here }: Props) {
  const { values, isTested, onNeed } = here;
  const words = samples[values.source];
  const now = useMemo(() => codeNow(value, syntax, values), [value, syntax, values]);
  const result = useResult(now?.state === 'job' ? now.job : undefined);
  const needed = now?.state === 'read' ? now.steps.join('\n') : '';
  useEffect(() => {
    if (needed !== '') onNeed(needed.split('\n'));
  }, [needed, onNeed]);
  if (!now) return null;
  if (now.state === 'value') return <Given value={now.value} />;
  if (now.state === 'fault') return <Line tone="bad">{now.message}</Line>;
  if (now.state === 'read') return <Line>{words.reading}</Line>;
  if (now.state === 'later')
    return <Line>{isTested ? `${words.lacks} ${now.of.join(', ')}, which the code reads.` : words.later}</Line>;
  if (!result) return <Line>= …</Line>;
  if ('value' in result) return <Given value={result.value} />;
  if ('failure' in result) return <Line>{result.failure}</Line>;
  return <Line tone="bad">{syntax === 'expression' ? `${result.error}. It counts as not true.` : result.error}</Line>;
}

function Given({ value }: { value: unknown }) {
  return (
    <div className="value-now">
      = <bdi>{shortText(value, MAX_SHOWN)}</bdi>
    </div>
  );
}

function Line({ tone = 'idle', children }: { tone?: 'bad' | 'idle'; children: string }) {
  return (
    <div className="value-now" data-tone={tone}>
      {children}
    </div>
  );
}

/** The code itself gives a value or throws; the sandbox fails. */
type Result = CodeResult | { failure: string };

/** The result of a job, once no other has come for a moment. That of an earlier one is dropped. */
function useResult(job: CodeJob | undefined): Result | undefined {
  const [ended, setEnded] = useState<{ job: CodeJob; result: Result }>();
  useEffect(holdSandbox, []);
  useEffect(() => {
    if (!job) return;
    let isWanted = true;
    const timer = setTimeout(async () => {
      const result = await runCode(job).catch((error): Result => ({ failure: failureOf(error) }));
      if (isWanted) setEnded({ job, result });
    }, PAUSE_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [job]);
  return ended !== undefined && ended.job === job ? ended.result : undefined;
}

function failureOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.startsWith('took longer')
    ? 'The code takes longer than the 100 ms that it has here. A test shows what it gives.'
    : `The value cannot be shown here: ${message}.`;
}
