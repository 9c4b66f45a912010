import { useMemo } from 'react';
import type { Offered } from '../code/offered.ts';
import type { Draft } from './draft.ts';

/** Names that code of a node is given: the input of the run, the results of nodes, and the variables of the tenant. */
export function useNamesInCode({ nodes }: Draft): Offered {
  const results = nodes.flatMap(({ data: { outputVariable } }) =>
    typeof outputVariable === 'string' && outputVariable !== '' ? outputVariable : [],
  );
  // As one text, which is the same while code is typed.
  const known = [...new Set(['input', ...results])].join('\n');
  return useMemo(() => ({ names: { ctx: known.split('\n'), vars: [] } }), [known]);
}
