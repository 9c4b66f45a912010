import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Delivery, type DeliveryAttempt, deliveriesRead, redeliver } from '../client/deliveries.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import type { Run } from '../client/types.ts';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago, durationText, Moment } from '../ui/time.tsx';

/** Whether the receiver of the workflow was told of the end of the run: every attempt with its answer. */
export function Deliveries({ tenantID, run: { instanceID } }: { tenantID: string; run: Run }) {
  const read = useQuery(deliveriesRead({ tenantID, instanceID }));
  const { data, refetch } = read;
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  return data?.map((delivery) => <Told key={delivery.deliveryID} tenantID={tenantID} delivery={delivery} />);
}

const looks = {
  PENDING: { word: 'Not told yet', tone: 'wait' },
  DELIVERED: { word: 'Told', tone: 'ok' },
  FAILED: { word: 'Not told: it is not tried again by itself', tone: 'bad' },
} as const;

function Told({ tenantID, delivery }: { tenantID: string; delivery: Delivery }) {
  const { instanceID, workflowID, url, status, attempts, nextAttemptAt } = delivery;
  const queries = useQueryClient();
  const again = useMutation({
    mutationFn: () => redeliver(tenantID, delivery),
    onSuccess: () => queries.invalidateQueries(deliveriesRead({ tenantID, instanceID })),
  });
  const { word, tone } = looks[status];
  return (
    <Stack gap="xs" component="section" aria-label="Receiver of the end">
      <Text component="h2" fw={600} size="sm">
        Receiver of the end
      </Text>
      <Text size="sm">
        <bdi className="breaks">{url}</bdi>{' '}
        <span className="status" data-tone={tone}>
          {word}
        </span>
        {nextAttemptAt && (
          <>
            {' '}
            (the next attempt: <Moment at={nextAttemptAt} />)
          </>
        )}
      </Text>
      <ul className="lines" aria-label="Attempts to tell the receiver">
        {attempts.map((attempt) => (
          <li key={attempt.number} className="breaks">
            {attempt.number}. <Ago at={attempt.at} />: <bdi>{wordsOf(attempt)}</bdi>
          </li>
        ))}
      </ul>
      {again.error && <Problem error={again.error} />}
      <May permission="workflow.execute" on={`workflow:${workflowID}`}>
        <Group>
          <Button size="xs" variant="default" loading={again.isPending} onClick={() => again.mutate()}>
            {status === 'PENDING' ? 'Tell it now' : 'Tell it again'}
          </Button>
        </Group>
      </May>
    </Stack>
  );
}

function wordsOf({ status, durationMs, response, error }: DeliveryAttempt): string {
  if (status === null) return error ?? (durationMs === null ? 'no answer yet' : 'no answer');
  const took = durationMs === null ? '' : ` after ${durationText(durationMs)}`;
  return `${status}${took}${response ? `: ${response}` : ''}`;
}
