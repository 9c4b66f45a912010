import { useMemo } from 'react';
import { outdatedSteps } from '../testing/outdated.ts';
import { noResults } from '../testing/results.ts';
import type { Tests } from '../testing/use-tests.ts';
import type { Draft } from './draft.ts';
import type { Tested } from './test-results.tsx';

/** The results that the graph shows, and which of them another test would not give. */
export function useTested(tests: Tests | undefined, draft: Draft) {
  const results = tests?.results ?? noResults;
  const tested: Tested = useMemo(
    () => new Map([...results].flatMap(([id, { steps, isCut }]) => (isCut ? [] : [[id, steps] as const]))),
    [results],
  );
  const outdated = useMemo(() => outdatedSteps(results, draft), [results, draft]);
  return { tested, outdated };
}
