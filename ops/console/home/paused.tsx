import { Button, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Overview } from '../client/overview.ts';
import { setWorkflowPause } from '../client/workflows.ts';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { countText } from './needs.tsx';

interface Props {
  tenantID: string;
  paused: NonNullable<Overview['paused']>;
}

/** Says which pauses keep runs from beginning, and where these end. */
export function Paused({ tenantID, paused: { isQueuePaused, tenantSince, workflows } }: Props) {
  if (!isQueuePaused && tenantSince === null && workflows.count === 0) return null;
  const others = workflows.count - workflows.newest.length;
  return (
    <Stack gap="xs" mb="md" component="section" aria-label="Paused">
      {isQueuePaused && (
        <Notice tone="wait" title="Paused by an operator">
          No run begins or goes on at present, in all tenants. Runs are accepted and wait.
        </Notice>
      )}
      {tenantSince !== null && (
        <Notice tone="wait" title="This tenant is paused">
          {'No run begins, since '}
          <Ago at={tenantSince} />
          {'. '}
          <Link className="link" to="/t/$tenantID/settings" params={{ tenantID }}>
            Resume it in the settings
          </Link>
        </Notice>
      )}
      {workflows.count > 0 && (
        <Notice tone="wait" title="Paused workflows">
          {workflows.newest.map((one) => (
            <PausedWorkflow key={one.id} tenantID={tenantID} workflow={one} />
          ))}
          {others > 0 && `And ${countText({ count: others, isMore: workflows.isMore })} others.`}
        </Notice>
      )}
    </Stack>
  );
}

type Workflow = Props['paused']['workflows']['newest'][number];

function PausedWorkflow({ tenantID, workflow: { id, title, pausedAt } }: { tenantID: string; workflow: Workflow }) {
  const queries = useQueryClient();
  const resume = useMutation({
    mutationFn: () => setWorkflowPause({ tenantID, workflowID: id }, 'resume'),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['overview', tenantID] }),
  });
  return (
    <div>
      <Link
        className="link"
        to="/t/$tenantID/runs"
        params={{ tenantID }}
        search={{ workflowID: id, status: 'PENDING' }}
      >
        <bdi>{title}</bdi>
      </Link>{' '}
      <span className="note">
        <Ago at={pausedAt} />
      </span>{' '}
      <May permission="workflow.update" on={`workflow:${id}`}>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Resume ${title}`}
          loading={resume.isPending}
          onClick={() => resume.mutate()}
        >
          Resume
        </Button>
      </May>
      {resume.error && <Problem error={resume.error} />}
    </div>
  );
}
