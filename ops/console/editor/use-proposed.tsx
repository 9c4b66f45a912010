import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { Draft } from './draft.ts';
import type { Proposed } from './marks.ts';

const ProposalBanner = lazy(() =>
  import('./proposal-banner.tsx').then(({ ProposalBanner: one }) => ({ default: one })),
);

/** The graph with a proposed change in it, unless a person looks at the draft alone, and what says so. */
export function useProposed(draft: Draft, proposal: Proposed | undefined) {
  const [isShown, setShown] = useState(true);
  const banner: ReactNode = proposal && (
    <Suspense>
      <ProposalBanner marks={proposal.marks} isShown={isShown} onShow={setShown} />
    </Suspense>
  );
  const { graph: shown, marks } = (isShown && proposal) || { graph: draft, marks: undefined };
  return { shown, marks, banner };
}
