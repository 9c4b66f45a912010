import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { type WorkflowIDs, workflowUsageRead } from '../client/workflows.ts';
import { May } from '../ui/may.tsx';

const ReplayDialog = lazy(() => import('./replay-dialog.tsx').then(({ ReplayDialog: one }) => ({ default: one })));

interface Props {
  ids: WorkflowIDs;
  isDirty: boolean;
  savedVersion: () => Promise<number>;
  nameOf: (nodeID: string) => string;
}

/** Offers a trial with recent events for a workflow that listeners start. */
export function TryWithEvents(props: Props) {
  const [isOpen, setOpen] = useState(false);
  const { data } = useQuery({ ...workflowUsageRead(props.ids), refetchOnWindowFocus: false });
  if (!data || data.listeners.length === 0) return null;
  return (
    <May permission="listener.execute">
      <Button variant="default" onClick={() => setOpen(true)}>
        Try with recent events
      </Button>
      <Suspense>
        {isOpen && <ReplayDialog {...props} listeners={data.listeners} onClose={() => setOpen(false)} />}
      </Suspense>
    </May>
  );
}
