import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../client/types.ts';
import { setWorkflowPause, type WorkflowIDs } from '../client/workflows.ts';
import { Confirm } from '../ui/confirm.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';

type Paused = Pick<Schemas['Workflow'], 'pausedAt'>;

/** Resumes a workflow, and tells the lists that show its state. */
export function useResume(ids: WorkflowIDs, onChanged: (change: Paused) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => setWorkflowPause(ids, 'resume'),
    onSuccess: async (pausedAt) => {
      onChanged({ pausedAt });
      await queries.invalidateQueries({ queryKey: ['workflows', ids.tenantID] });
    },
  });
}

interface ShownProps {
  workflowID: string;
  pausedAt: string;
  resume: ReturnType<typeof useResume>;
}

export function PausedSince({ workflowID, pausedAt, resume }: ShownProps) {
  return (
    <Notice tone="wait" title="Paused">
      <Ago at={pausedAt} />
      {'. New runs are accepted and wait; those that had begun go on. '}
      <May permission="workflow.update" on={`workflow:${workflowID}`}>
        <Button size="compact-xs" variant="default" loading={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      </May>
      {resume.error && <Problem error={resume.error} />}
    </Notice>
  );
}

interface PauseProps {
  ids: WorkflowIDs;
  title: string;
  onChanged: (change: Paused) => void;
  onClose: () => void;
}

export function PauseDialog({ ids, title, onChanged, onClose }: PauseProps) {
  const queries = useQueryClient();
  return (
    <Confirm
      title="Pause the workflow"
      question={`No run of “${title}” begins until it is resumed. Runs that have begun go on; new ones are accepted, wait in their order, and begin when it is resumed.`}
      verb="Pause"
      keep="Cancel"
      onConfirm={async () => {
        onChanged({ pausedAt: await setWorkflowPause(ids, 'pause') });
        await queries.invalidateQueries({ queryKey: ['workflows', ids.tenantID] });
      }}
      onClose={onClose}
    />
  );
}
