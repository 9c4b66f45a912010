import { type ReactNode, useMemo } from 'react';
import { ANY } from '#shared/workflow/nodes/results.ts';
import { ValuesOfStep } from '../../../values/context.ts';
import { ValueField } from '../../../values/field.tsx';
import type { Value, Values } from '../../../values/value.ts';
import type { PageDocument } from '../../document.ts';
import { variablesOf } from '../config.ts';
import { PageNow } from './page-now.tsx';

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

export function stateValues({ config }: Pick<PageDocument, 'config'>): Values {
  const values: Value[] = variablesOf(config).map(({ key }) => ({
    ...{ path: ['state', key], name: key, shape: ANY, sample: undefined },
  }));
  const input: Value = { path: ['state'], name: 'state', shape: { type: 'object' }, sample: undefined };
  return {
    ...{ input, groups: values.length > 0 ? [{ title: 'Variables', values }] : [] },
    ...{ source: 'page', roots: ['state'], elsewhere: new Map(), open: new Set() },
  };
}
