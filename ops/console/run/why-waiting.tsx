import { Link } from '@tanstack/react-router';
import type { Run } from '../client/types.ts';
import { Notice } from '../ui/notice.tsx';
import { Moment } from '../ui/time.tsx';

/** Why a run waits or has not started, in a sentence, and the way to end that. */
export function WhyWaiting({ tenantID, run: { waiting, waitReason, status } }: { tenantID: string; run: Run }) {
  if (!waitReason && !waiting) return null;
  const estimate = waitReason?.estimateSeconds;
  const requestID = waiting?.collectionRequestID;
  const until = waitReason?.until ?? waiting?.until;
  return (
    <Notice tone="wait" title={titleOf(status, waitReason)}>
      {waitReason ? sentenceOf(waitReason.message) : `It waits for ${waitWords[waiting?.reason ?? 'queue']}.`}
      {until && (
        <>
          {' Until '}
          <Moment at={until} />.
        </>
      )}
      {estimate && !until ? ` About ${estimate} s more.` : ''}{' '}
      {requestID && (
        <Link className="link" to="/t/$tenantID/inbox/$requestID" params={{ tenantID, requestID }}>
          Answer the question
        </Link>
      )}
    </Notice>
  );
}

function titleOf(status: Run['status'], reason: Run['waitReason']): string {
  if (reason?.code === 'paused') return 'Paused';
  return status === 'PENDING' ? 'Not started yet' : 'Waiting';
}

const waitWords: Record<NonNullable<Run['waiting']>['reason'], string> = {
  delay: 'a time',
  input: 'an answer',
  event: 'an event',
  child: 'a run that it has started',
  'no-worker': 'a worker',
  queue: 'its turn',
};

/** The API's reasons begin with a verb or a number. */
function sentenceOf(message: string): string {
  return `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`;
}
