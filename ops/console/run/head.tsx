import { Button, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { hasEnded } from '../client/live-runs.ts';
import { body, rest } from '../client/rest.ts';
import type { Run } from '../client/types.ts';
import { Detail } from '../ui/detail.tsx';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Status } from '../ui/status.tsx';
import { Ago, Duration } from '../ui/time.tsx';
import type { Graph } from './graph-of.ts';
import { RerunButton } from './rerun-button.tsx';
import { RunAgain } from './run-again.tsx';
import { RunLink, StartedBy } from './started-by.tsx';
import { WhyWaiting } from './why-waiting.tsx';

interface Props {
  tenantID: string;
  run: Run;
  graph: Graph | undefined;
  /** The step that is shown. */
  step: string | undefined;
  /** Why it has failed, if nothing else on the page says so. */
  children: ReactNode;
}

/** The head of the page of a run: its state, its facts, and the actions on it. */
export function RunHead({ tenantID, run, graph, step, children }: Props) {
  const { instanceID, workflowTitle, status, createdAt, startedAt, completedAt, rerunOf } = run;
  const stop = useMutation({
    mutationFn: () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/stop';
      return body(rest.DELETE(path, { params: { path: { tenantID, instanceID } } }));
    },
  });
  return (
    <>
      <PageTitle
        title={workflowTitle ?? 'Unsaved workflow'}
        beside={
          <span role="status">
            <Status of={status} />
          </span>
        }
      >
        <May permission="workflow.execute" on={`workflow:${run.workflowID ?? '*'}`}>
          {!hasEnded(run) && (
            <Button
              variant="default"
              leftSection={<Icon name="ban" />}
              loading={stop.isPending}
              onClick={() => stop.mutate()}
            >
              Cancel
            </Button>
          )}
        </May>
        <RerunButton tenantID={tenantID} run={run} graph={graph} step={step} />
      </PageTitle>
      <Stack gap="xs" mb="sm">
        {stop.error && <Problem error={stop.error} />}
        <WhyWaiting tenantID={tenantID} run={run} />
        {children}
        <dl className="facts">
          <Detail name="Run">
            <code>{instanceID}</code>
          </Detail>
          <Detail name="Accepted">
            <Ago at={createdAt} />
          </Detail>
          <Detail name="In the queue">
            <Duration from={createdAt} to={startedAt ?? completedAt} />
          </Detail>
          <Detail name="Duration">
            <Duration from={startedAt} to={completedAt} />
          </Detail>
          <Detail name="Started by">
            <StartedBy tenantID={tenantID} run={run} />
          </Detail>
          {run.batchID !== null && (
            <Detail name="Batch">
              <Link className="link" to="/t/$tenantID/batches/$batchID" params={{ tenantID, batchID: run.batchID }}>
                {run.batchID.slice(-8)}
              </Link>
            </Detail>
          )}
          {run.tags.length > 0 && <Detail name="Tags">{run.tags.join(', ')}</Detail>}
          {rerunOf && (
            <Detail name="Repeats">
              <RunLink tenantID={tenantID} instanceID={rerunOf} name={rerunOf.slice(-8)} />
            </Detail>
          )}
          {hasEnded(run) && <RunAgain tenantID={tenantID} instanceID={instanceID} />}
        </dl>
      </Stack>
    </>
  );
}
