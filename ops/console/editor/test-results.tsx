import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useLiveRun } from '../client/live-run.ts';
import { hasEnded } from '../client/live-runs.ts';
import type { NodeSteps } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import type { Tests } from '../testing/use-tests.ts';
import { Status } from '../ui/status.tsx';

export type Tested = ReadonlyMap<string, NodeSteps>;

interface Props {
  tenantID: string;
  instanceID: string;
  /** Otherwise a run from which the person has come, in order to change what it did. */
  isTest: boolean;
  onRun: (run: Run) => void;
  onWaiting: ShownProps['onWaiting'];
}

interface ShownProps {
  tenantID: string;
  tests: Pick<Tests, 'testID' | 'noteRun'>;
  /** The run that one comes from. */
  from: string | undefined;
  /** Shows the result of the step that waits; undefined: none does. */
  onWaiting: (() => void) | undefined;
}

/** The run whose results the steps show, and the way back to the one that one comes from. */
export function ShownRun({ tenantID, tests: { testID, noteRun }, from, onWaiting }: ShownProps) {
  return (
    <>
      {from !== undefined && testID !== from && (
        <Link
          className="link note-link"
          to="/t/$tenantID/runs/$instanceID"
          params={{ tenantID, instanceID: from }}
          search={{}}
        >
          Back to the run
        </Link>
      )}
      {testID !== undefined && (
        <TestResults
          tenantID={tenantID}
          instanceID={testID}
          isTest={testID !== from}
          onRun={noteRun}
          onWaiting={onWaiting}
        />
      )}
    </>
  );
}

/** The last test, as it goes on; what became of its steps is shown at them. */
function TestResults({ tenantID, instanceID, isTest, onRun, onWaiting }: Props) {
  const { run } = useLiveRun({ tenantID, instanceID });
  useEffect(() => {
    if (run) onRun(run);
  }, [run, onRun]);
  const stop = useMutation({
    mutationFn: async () => (await import('../client/stop-run.ts')).stopRun({ tenantID, instanceID }),
  });
  if (!run) return null;
  return (
    <span className="last-test">
      {isTest ? 'Last test:' : 'Shown:'}{' '}
      <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
        {!isTest && 'the run that you come from '}
        <Status of={run.status} />
      </Link>
      {isTest && run.status === 'WAITING' && onWaiting && (
        <Button size="compact-xs" ml={6} onClick={onWaiting}>
          Show what it waits for
        </Button>
      )}
      {isTest && !hasEnded(run) && (
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
