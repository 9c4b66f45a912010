import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ListenerIDs, listenerFormsRead, listenerRead } from '../client/listeners.ts';
import type { Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { JSONView } from '../ui/json.tsx';
import type { Tone } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { Words } from '../ui/words.tsx';

type Outcome = Schemas['ListenerActionOutcome'];

const looks: Record<Outcome['state'], { word: string; tone: Tone }> = {
  done: { word: 'Done', tone: 'ok' },
  filtered: { word: 'Filtered out', tone: 'idle' },
  waiting: { word: 'Waits', tone: 'wait' },
  failed: { word: 'Failed', tone: 'bad' },
};

interface Props {
  ids: ListenerIDs;
  /** Outcomes by the ids of the actions. */
  outcomes: Schemas['ListenerEventDetail']['actions'];
  /** The error of the event, which is shown above. */
  error: string | undefined;
}

/** Actions on an event with their outcomes, in the order of the listener; deleted ones are at the end. */
export function EventActions({ ids, outcomes, error }: Props) {
  const { data: forms } = useQuery(listenerFormsRead(ids.tenantID));
  const { data: listener } = useQuery(listenerRead(ids));
  const order = listener?.actions.map(({ actionID }) => actionID) ?? [];
  const rankOf = (id: string) => (order.includes(id) ? order.indexOf(id) : order.length);
  const shown = Object.entries(outcomes).toSorted(([one], [other]) => rankOf(one) - rankOf(other));
  if (shown.length === 0) return <Text size="sm">None was done.</Text>;
  return (
    <ul className="lines prose" aria-label="Actions of the event">
      {shown.map(([id, outcome]) => (
        <li key={id}>
          <Line
            tenantID={ids.tenantID}
            label={forms?.actions[outcome.type]?.label ?? '…'}
            outcome={outcome}
            isTold={outcome.error?.message === error}
          />
        </li>
      ))}
    </ul>
  );
}

interface LineProps {
  tenantID: string;
  label: string;
  outcome: Outcome;
  /** Whether its error is shown already. */
  isTold: boolean;
}

function Line({ tenantID, label, outcome, isTold }: LineProps) {
  const { state, attempts, at, error, instanceID, result } = outcome;
  const { word, tone } = looks[state];
  return (
    <>
      <Text size="sm">
        {label}{' '}
        <span className="status" data-tone={tone}>
          {word}
        </span>{' '}
        <Ago at={at} />
        {attempts > 1 && `, ${countOf(attempts, 'attempt')}`}
      </Text>
      {error && !isTold && (
        <Text size="sm" className="breaks">
          <Words text={error.message} />
        </Text>
      )}
      {instanceID && (
        <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
          The run that it has started
        </Link>
      )}
      {result && Object.keys(result).length > 0 && <JSONView value={result} label={`Result of ${label}`} />}
    </>
  );
}
