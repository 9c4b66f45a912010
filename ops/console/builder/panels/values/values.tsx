import { type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';
import type { Shape } from '#shared/workflow/nodes/results.ts';
import { OfferedInCode } from '../../../code/offered.ts';
import { type ValuesHere, ValuesOfStep } from '../../../values/context.ts';
import { ValueField } from '../../../values/field.tsx';
import { scopeOf } from '../../../values/scope.ts';
import { isFirstText } from '../../add/first-values.ts';
import type { PageDocument } from '../../document.ts';
import { nameableIn } from './nameable.ts';
import { PageNow, PageOnCanvas } from './page-now.tsx';
import { type Nameable, pageValues } from './page-values.ts';

interface Props {
  document: PageDocument;
  /** The known parts of the event, for fields that are computed when it happens. */
  event?: Shape;
  /** The type of the widget whose properties the fields are: examples that it began with are replaced by a chosen value. */
  widgetType?: string;
  children: ReactNode;
}

/** Gives fields the values that expressions of the page can name, as they are now. */
export function PageValues({ document, event, widgetType, children }: Props) {
  const page = useContext(PageOnCanvas);
  useRounds(page !== undefined);
  const nameable = useUnchanged(nameableIn(document, page, event));
  const here: ValuesHere = useMemo(
    () => ({
      values: pageValues(nameable),
      ...{ isTested: nameable.page !== undefined, onNeed: () => undefined, Field: ValueField, Now: PageNow },
      ...(widgetType !== undefined && { isSample: (text: string) => isFirstText(widgetType, text) }),
    }),
    [nameable, widgetType],
  );
  const offered = useMemo(() => ({ names: scopeOf(here.values) }), [here]);
  return (
    <ValuesOfStep value={here}>
      <OfferedInCode value={offered}>{children}</OfferedInCode>
    </ValuesOfStep>
  );
}

/** Values are looked at anew so often: a page may change all the time. */
const EVERY_MS = 1_000;

function useRounds(isOn: boolean): void {
  const [, setRound] = useState(0);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => setRound((count) => count + 1), EVERY_MS);
    return () => clearInterval(timer);
  }, [isOn]);
}

/** The object of before as long as the names and the values are the same. */
function useUnchanged(now: Nameable): Nameable {
  const last = useRef(now);
  if (!isSame(last.current, now)) last.current = now;
  return last.current;
}

function isSame(one: Nameable, other: Nameable): boolean {
  const [parts, others] = [partsOf(one), partsOf(other)];
  return parts.length === others.length && parts.every((part, at) => Object.is(part, others[at]));
}

function partsOf({ queries, workflows, variables, widgets, viewer, page, event, chosenRows }: Nameable): unknown[] {
  const lists = [queries, workflows, variables, widgets];
  const named = lists.flatMap((list) => [list.length, ...list.flatMap(({ name, note, value }) => [name, note, value])]);
  return [...named, viewer, page?.title, page?.params, page === undefined, event, JSON.stringify(chosenRows)];
}
