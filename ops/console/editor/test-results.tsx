import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useLiveRun } from '../client/live-run.ts';
import type { NodeSteps } from '../client/run-steps.ts';
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
  if (!run) return null;
  return (
    <span className="last-test">
      Last test:{' '}
      <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
        <Status of={run.status} />
      </Link>
    </span>
  );
}
