import { Link } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { useLiveRun } from '../client/live-run.ts';
import { type NodeSteps, nodesOf } from '../client/run-steps.ts';
import { Status } from '../ui/status.tsx';

export type Tested = ReadonlyMap<string, NodeSteps>;

interface Props {
  tenantID: string;
  instanceID: string;
  onResults: (results: Tested) => void;
}

/** The last test, as it goes on; what became of its steps is shown at them. */
export function TestResults({ tenantID, instanceID, onResults }: Props) {
  const { run } = useLiveRun({ tenantID, instanceID });
  const timeline = run?.timeline;
  const results = useMemo(
    () => new Map(nodesOf(timeline ?? []).map((node) => [node.nodeID, node] as const)),
    [timeline],
  );
  useEffect(() => onResults(results), [results, onResults]);
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
