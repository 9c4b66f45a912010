import { Skeleton } from '@mantine/core';
import { type ComponentProps, lazy, type ReactNode, Suspense, useEffect } from 'react';
import { exitsOf } from '../graph/exits.ts';
import { scrollPanelUp, WorkspacePanel } from '../graph/workspace.tsx';
import { withPin } from '../testing/pins.ts';
import { noResults } from '../testing/results.ts';
import { StepTests } from '../testing/step-tests.tsx';
import type { Tests } from '../testing/use-tests.ts';
import type { Draft } from './draft.ts';
import { NodePanel } from './node-panel.tsx';
import type { Tested } from './test-results.tsx';

const StepValues = lazy(() => import('./step-values.tsx').then(({ StepValues: one }) => ({ default: one })));
const StepResult = lazy(() => import('../testing/step-result.tsx').then(({ StepResult: one }) => ({ default: one })));

const ItemResult = lazy(() => import('../testing/item-result.tsx').then(({ ItemResult: one }) => ({ default: one })));

interface Props extends Omit<ComponentProps<typeof NodePanel>, 'faults' | 'onChange' | 'result' | 'test' | 'children'> {
  tenantID: string;
  faults: ReadonlyMap<string, string> | undefined;
  /** Another number draws the fields anew. */
  moves: number;
  tests: Tests | undefined;
  tested: Tested;
  isOutdated: boolean;
  /** While a plan is shown, it stands in place of the tests. */
  planned: ReactNode;
  nameOf: (id: string) => string;
  onChange: (change: (draft: Draft) => Draft, what?: string) => void;
}

const noFaults: ReadonlyMap<string, string> = new Map();

/** The panel of the step that is chosen. */
export function ChosenStep(props: Props) {
  const { tenantID, faults, moves, tests, tested, isOutdated, planned, nameOf, onChange, ...panel } = props;
  const { draft, node, kinds, isReadOnly, onSelect } = panel;
  // Another step begins with its first field.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another step does
  useEffect(scrollPanelUp, [node.id]);
  const results = tests?.results ?? noResults;
  const result = results.get(node.id);
  const exits = exitsOf(kinds[node.type], node.data);
  const shown = { tenantID, isOutdated, exits, onSelect, title: nameOf(node.id) };
  const alone = tests?.aloneOf(node.id);
  const test = tests && alone && (
    <StepTests
      {...{ tests, alone, node, nameOf, exits, isReadOnly }}
      begins={kinds[node.type]?.begins === true}
      onPin={(pin) => onChange((old) => withPin(old, node.id, pin))}
    />
  );
  return (
    <WorkspacePanel label="Step">
      <Suspense fallback={<Skeleton className={panel.tab === 'result' ? 'step-result' : ''} h={200} />}>
        <StepValues key={node.id} {...{ tenantID, draft, node, kinds, tested, results }} testID={tests?.testID}>
          <NodePanel
            key={`${node.id} ${moves}`}
            {...panel}
            {...{ result, isOutdated }}
            faults={faults ?? noFaults}
            onChange={(next) => onChange(next, `step ${node.id}`)}
            test={planned ?? test}
          >
            <Suspense fallback={<Skeleton className="step-result" h={120} />}>
              {alone?.map === undefined ? (
                <StepResult {...shown} result={result} />
              ) : (
                <ItemResult tenantID={tenantID} nodeID={node.id} map={results.get(alone.map)}>
                  {(ofItem) => <StepResult {...shown} result={ofItem} />}
                </ItemResult>
              )}
            </Suspense>
          </NodePanel>
        </StepValues>
      </Suspense>
    </WorkspacePanel>
  );
}
