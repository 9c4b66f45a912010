import { Link } from '@tanstack/react-router';
import type { RunStatus } from '../client/types.ts';
import { Status } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';

interface Props {
  tenantID: string;
  run: { instanceID: string; workflowTitle?: string | null; status: RunStatus; createdAt: string };
}

/** A run in a list of a few: its state, a link to its page, and when it was accepted. */
export function RunLine({ tenantID, run: { instanceID, workflowTitle, status, createdAt } }: Props) {
  return (
    <div>
      <Status of={status} />{' '}
      <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
        <bdi>{workflowTitle ?? 'Unsaved workflow'}</bdi>
      </Link>{' '}
      <Ago at={createdAt} />
    </div>
  );
}
