import { Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../client/may.ts';
import type { Overview } from '../client/overview.ts';
import { toolCallsRead } from '../client/tool-calls.ts';
import { countOf } from '../ui/count.ts';
import { Ago } from '../ui/time.tsx';
import { Words } from '../ui/words.tsx';
import { RunLine } from './run-line.tsx';

/** The parts of an overview that wait for a person; the others are left out. */
export function Needs({ tenantID, overview }: { tenantID: string; overview: Overview }) {
  const may = useMay();
  const { data } = useQuery({ ...toolCallsRead(tenantID, { isWaiting: true }), enabled: may('ai.approve') });
  const { questions, runs, deadLetters, stoppedCronJobs, stoppedListeners } = overview;
  const calls = data?.totalCount ?? 0;
  const parts = [questions, runs?.failed, deadLetters, stoppedCronJobs, stoppedListeners];
  const count = parts.reduce((sum, part) => sum + (part?.count ?? 0), calls);
  if (count === 0)
    return (
      <Paper withBorder p="md">
        Nothing waits for you: no question, no dead letter, nothing failed in the last 24 hours.
      </Paper>
    );
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      {questions && <Questions tenantID={tenantID} questions={questions} />}
      {calls > 0 && <Calls tenantID={tenantID} count={calls} />}
      {runs && <FailedRuns tenantID={tenantID} runs={runs.failed} />}
      {deadLetters && <DeadLetters tenantID={tenantID} letters={deadLetters} />}
      {stoppedCronJobs && (
        <StoppedOnes
          title="Stopped cron jobs"
          stopped={stoppedCronJobs}
          link={(cronJobID, title) => (
            <Link className="link" to="/t/$tenantID/cron/$cronJobID" params={{ tenantID, cronJobID }}>
              {title}
            </Link>
          )}
        />
      )}
      {stoppedListeners && (
        <StoppedOnes
          title="Stopped listeners"
          stopped={stoppedListeners}
          link={(listenerID, title) => (
            <Link className="link" to="/t/$tenantID/listeners/$listenerID" params={{ tenantID, listenerID }}>
              {title}
            </Link>
          )}
        />
      )}
    </SimpleGrid>
  );
}

interface Counted {
  count: number;
  isMore: boolean;
}

/** The API counts no further. */
export function countText({ count, isMore }: Counted): string {
  return `${count.toLocaleString()}${isMore ? ' or more' : ''}`;
}

function Section({ title, of: { count }, children }: { title: string; of: Counted; children: ReactNode }) {
  if (count === 0) return null;
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Text component="h2" fw={600} mb="xs">
        {title}
      </Text>
      <Stack gap="xs">{children}</Stack>
    </Paper>
  );
}

function Questions({ tenantID, questions }: { tenantID: string; questions: NonNullable<Overview['questions']> }) {
  return (
    <Section title="Questions that wait for an answer" of={questions}>
      {questions.newest.map(({ collectionRequestID, title, nodeID, createdAt }) => (
        <div key={collectionRequestID}>
          <Link
            className="link"
            to="/t/$tenantID/inbox/$requestID"
            params={{ tenantID, requestID: collectionRequestID }}
          >
            <bdi>{title ?? nodeID}</bdi>
          </Link>{' '}
          <Ago at={createdAt} />
        </div>
      ))}
      {questions.count > questions.newest.length && (
        <Link className="link" to="/t/$tenantID/inbox" params={{ tenantID }}>
          All {countText(questions)}
        </Link>
      )}
    </Section>
  );
}

function Calls({ tenantID, count }: { tenantID: string; count: number }) {
  return (
    <Section title="Calls of tools that wait for a decision" of={{ count, isMore: false }}>
      <Link className="link" to="/t/$tenantID/inbox" params={{ tenantID }}>
        {count.toLocaleString()} in the inbox
      </Link>
    </Section>
  );
}

/** Each listener leads to its dead letters. */
function DeadLetters({ tenantID, letters }: { tenantID: string; letters: NonNullable<Overview['deadLetters']> }) {
  const { count, isMore, listeners } = letters;
  const isCut = isMore || listeners.reduce((sum, one) => sum + one.count, 0) < count;
  return (
    <Section title="Dead letters of the last 24 hours" of={letters}>
      {listeners.map(({ id, title, ...own }) => (
        <div key={id}>
          <Link
            className="link"
            to="/t/$tenantID/listeners/$listenerID"
            params={{ tenantID, listenerID: id }}
            search={{ state: 'dead' }}
          >
            <bdi>{title}</bdi>
          </Link>{' '}
          <span className="note">{lettersText(own)}</span>
        </div>
      ))}
      {isCut && <Text size="sm">{lettersText(letters)} in all.</Text>}
    </Section>
  );
}

function lettersText({ count, isMore }: Counted): string {
  return isMore ? `${countText({ count, isMore })} dead letters` : countOf(count, 'dead letter');
}

type Stopped = NonNullable<Overview['stoppedCronJobs']>;

interface StoppedProps {
  title: string;
  stopped: Stopped;
  /** A link to the page of one of them. */
  link: (id: string, title: ReactNode) => ReactNode;
}

function StoppedOnes({ title: heading, stopped, link }: StoppedProps) {
  return (
    <Section title={heading} of={stopped}>
      {stopped.newest.map(({ id, title, reason }) => (
        <div key={id}>
          {link(id, <bdi>{title}</bdi>)} {reason && <Reason text={reason} />}
        </div>
      ))}
      <Others of={stopped} />
    </Section>
  );
}

function Reason({ text }: { text: string }) {
  return (
    <span className="note">
      <Words text={text} />
    </span>
  );
}

function Others({ of: { count, isMore, newest } }: { of: Counted & { newest: readonly unknown[] } }) {
  const others = count - newest.length;
  return others > 0 ? <Text size="sm">And {countText({ count: others, isMore })} others.</Text> : null;
}

function FailedRuns({ tenantID, runs }: { tenantID: string; runs: NonNullable<Overview['runs']>['failed'] }) {
  return (
    <Section title="Failed in the last 24 hours" of={runs}>
      {runs.newest.map((run) => (
        <RunLine key={run.instanceID} tenantID={tenantID} run={{ ...run, status: 'FAILED' }} />
      ))}
      <Link className="link" to="/t/$tenantID/runs" params={{ tenantID }} search={{ status: 'FAILED', since: 'day' }}>
        {runs.count > runs.newest.length ? `All ${countText(runs)}` : 'Show them in the list of runs'}
      </Link>
    </Section>
  );
}
