import { useDeferredValue, useEffect, useMemo } from 'react';
import type { Fault } from './check.ts';
import type { NowProps } from './context.ts';
import { valueNow } from './now.ts';
import { samples } from './samples.ts';
import { shortText } from './value.ts';

/** More would hide the form. */
export const MAX_SHOWN = 160;

/** The value of a field with expressions for the present data, or why it has none. */
export function NowLine({ id, value, here, isTyping }: NowProps) {
  const { values, isTested, onNeed } = here;
  const words = samples[values.source];
  const typed = useDeferredValue(value);
  const now = useMemo(() => valueNow(typed, values), [typed, values]);
  const needed = now?.state === 'read' ? now.steps.join('\n') : '';
  useEffect(() => {
    if (needed !== '') onNeed(needed.split('\n'));
  }, [needed, onNeed]);
  if (!now) return null;
  if (now.state === 'value')
    return (
      <div id={id} className="value-now">
        = <bdi>{shortText(now.value, MAX_SHOWN)}</bdi>
      </div>
    );
  return (
    <div id={id} className="value-now" data-tone={now.state === 'fault' && !isTyping ? 'bad' : 'idle'}>
      {now.state === 'fault' && <bdi>{isTyping ? '…' : now.message}</bdi>}
      {now.state === 'read' && words.reading}
      {now.state === 'later' && (isTested ? words.unknown : words.later)}
    </div>
  );
}

/** The first fault of a field whose values are not shown. */
export function FaultLine({ id, faults: [first] }: { id: string; faults: readonly Fault[] }) {
  if (!first) return null;
  return (
    <div id={id} className="value-now" data-tone="bad">
      <bdi>{first.message}</bdi>
    </div>
  );
}
