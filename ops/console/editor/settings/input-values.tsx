import { type ReactNode, useMemo } from 'react';
import { useInputOfRun } from '../../client/live-run.ts';
import { useTenantID } from '../../ui/asset-title.tsx';
import { ValuesOfStep } from '../../values/context.ts';
import { ValueField } from '../../values/field.tsx';
import { valuesBefore } from './values-before.ts';

interface Props {
  /** The declared inputs of the workflow. */
  definitions: unknown;
  /** The last test, whose input is the sample. */
  testID: string | undefined;
  children: ReactNode;
}

/** Gives fields the values that are known before a run begins. */
export function InputValues({ definitions, testID, children }: Props) {
  const input = useInputOfRun({ tenantID: useTenantID(), instanceID: testID });
  const isTested = testID !== undefined;
  const here = useMemo(
    () => ({ values: valuesBefore(definitions, input), isTested, onNeed: () => undefined, Field: ValueField }),
    [definitions, input, isTested],
  );
  return <ValuesOfStep value={here}>{children}</ValuesOfStep>;
}
