import { useDebouncedValue } from '@mantine/hooks';
import { createContext, useContext, useEffect, useId, useState } from 'react';
import { compile, isFixed, type Outcome } from '../../../page/bindings/compile.ts';
import type { PageState } from '../../../page/state/page-state.ts';
import type { NowProps } from '../../../values/context.ts';
import { shortText } from '../../../values/value.ts';

/** The page as it is drawn now; undefined while it is not. */
export const PageOnCanvas = createContext<PageState | undefined>(undefined);

/** More would hide the form. */
const MAX_SHOWN = 160;
/** A word that is being typed is not computed letter by letter. */
const PAUSE_MS = 250;

/** The value of a field with expressions as the page computes it now, or why it has none. */
export function PageNow({ id, value, isTyping }: NowProps) {
  const page = useContext(PageOnCanvas);
  const [typed] = useDebouncedValue(value, PAUSE_MS);
  const outcome = useLive(page, typed);
  const compiled = compile(typed);
  if (isFixed(compiled)) return null;
  const isLater = compiled.names.some(({ root }) => root === 'event');
  if (isLater) return <Line id={id}>It is computed when the event happens.</Line>;
  if (!page || !outcome) return <Line id={id}>The page shows its value once it is drawn.</Line>;
  const [fault] = outcome.faults;
  if (fault && isTyping) return <Line id={id}>…</Line>;
  if (fault)
    return (
      <Line id={id} isBad>
        {`{{${fault.source}}} ${fault.message}`}
      </Line>
    );
  if (outcome.value === undefined) return <Line id={id}>{outcome.isPending ? 'Computing …' : noValue(value)}</Line>;
  return (
    <div id={id} className="value-now">
      = <bdi>{shortText(outcome.value, MAX_SHOWN)}</bdi>
    </div>
  );
}

function noValue(value: unknown): string {
  const isOfRow = typeof value === 'string' && /\bselectedRow\b/.test(value);
  return isOfRow ? 'It has a value once a row is chosen.' : 'It has no value now.';
}

function Line({ id, isBad = false, children }: { id: string; isBad?: boolean; children: string }) {
  return (
    <div id={id} className="value-now" data-tone={isBad ? 'bad' : 'idle'}>
      <bdi>{children}</bdi>
    </div>
  );
}

/** The outcome of a value with expressions on the page, also when the page changes. */
export function useLive(page: PageState | undefined, value: unknown): Outcome | undefined {
  const id = `field ${useId()}`;
  const [outcome, setOutcome] = useState<Outcome>();
  useEffect(() => {
    if (!page || isFixed(compile(value))) return setOutcome(undefined);
    const { bindings } = page;
    bindings.define(id, value);
    const end = bindings.observe(id, () => setOutcome(bindings.read(id)));
    setOutcome(bindings.read(id));
    return () => {
      end();
      bindings.remove(id);
    };
  }, [page, id, value]);
  return outcome;
}
