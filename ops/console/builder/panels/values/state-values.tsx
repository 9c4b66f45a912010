import { type ReactNode, useMemo } from 'react';
import { ValuesOfStep } from '../../../values/context.ts';
import { ValueField } from '../../../values/field.tsx';
import type { PageDocument } from '../../document.ts';
import { PageNow } from './page-now.tsx';
import { stateValues } from './state.ts';

/** Gives fields of queries that a widget binds itself the only values that the server fills in there: variables, as `state`. */
export function StateValues({ document, children }: { document: PageDocument; children: ReactNode }) {
  const here = useMemo(
    () => ({
      values: stateValues(document),
      ...{ isTested: true, onNeed: () => undefined, Field: ValueField, Now: PageNow },
    }),
    [document],
  );
  return <ValuesOfStep value={here}>{children}</ValuesOfStep>;
}
