import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useLiveRun } from '../client/live-run.ts';
import { hasEnded } from '../client/live-runs.ts';
import type { NodeSteps } from '../client/run-steps.ts';
import { stopRun } from '../client/stop-run.ts';
import type { Run } from '../client/types.ts';
import { Status } from '../ui/status.tsx';

export type Tested = ReadonlyMap<string, NodeSteps>;

interface Props {
  tenantID: string;
  instanceID: string;
  onRun: (run: Run) => void;
}

/** The last test, as it goes on; what became of its steps is shown at them. */
export function TestResults({ tenantID, instanceID, onRun }: Props) {
  const { run } = useLiveRun({ tenantID, instanceID });
  useEffect(() => {
    if (run) onRun(run);
  }, [run, onRun]);
  const stop = useMutation({ mutationFn: () => stopRun({ tenantID, instanceID }) });
  if (!run) return null;
  return (
    <span className="last-test">
      Last test:{' '}
      <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
        <Status of={run.status} />
      </Link>
      {!hasEnded(run) && (
        <Button
          size="compact-xs"
          variant="default"
          ml={6}
          aria-label="Stop the test"
          loading={stop.isPending}
          onClick={() => stop.mutate()}
        >
          Stop
        </Button>
      )}
      {stop.error && <span className="fault"> {stop.error.message}</span>}
    </span>
  );
}
