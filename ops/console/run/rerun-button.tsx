import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import type { Run } from '../client/types.ts';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import type { Graph } from './graph-of.ts';

const Rerun = lazy(() => import('./rerun.tsx').then(({ Rerun: one }) => ({ default: one })));

interface Props {
  tenantID: string;
  run: Run;
  graph: Graph | undefined;
  /** The step from which it is offered, if one is shown. */
  step: string | undefined;
  label?: string;
  size?: 'xs';
}

/** Repeats a run, as far as it can be repeated by itself: parts of a map are repeated with the whole. */
export function RerunButton({ tenantID, run, graph, step, label = 'Re-run', size }: Props) {
  const [isOpen, opening] = useDisclosure(false);
  if (!run.workflowID || run.mapID !== null) return null;
  return (
    <May permission="workflow.execute" on={`workflow:${run.workflowID}`}>
      <Button variant="default" {...(size && { size })} leftSection={<Icon name="again" />} onClick={opening.open}>
        {label}
      </Button>
      {isOpen && (
        <Suspense>
          <Rerun tenantID={tenantID} run={run} graph={graph} step={step} onClose={opening.close} />
        </Suspense>
      )}
    </May>
  );
}
