import { type MultiSelectProps, Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { whenServed } from '../client/when-served.ts';

const Part = lazy(() =>
  whenServed(() => import('./multi-select-part.tsx')).then(({ MultiSelectPart: one }) => ({ default: one })),
);

/** Loaded with the first field of several choices: few forms have one. */
export function MultiSelect(props: MultiSelectProps) {
  return (
    <Suspense fallback={<Skeleton h={60} />}>
      <Part {...props} />
    </Suspense>
  );
}
