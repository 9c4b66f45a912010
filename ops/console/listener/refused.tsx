import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { refusalsRead } from '../client/listener-deliveries.ts';
import type { ListenerIDs } from '../client/listeners.ts';
import { countOf } from '../ui/count.ts';
import { JSONView } from '../ui/json.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { Words } from '../ui/words.tsx';

/** The status of deliveries that do not prove where they come from. */
const UNPROVEN = 401;

type Refusal = NonNullable<ReturnType<typeof useRefusals>['data']>[number];

function useRefusals(ids: ListenerIDs) {
  return useQuery(refusalsRead(ids));
}

/** Deliveries that were refused, and why; they are no events. */
export function Refused({ ids, datasourceID }: { ids: ListenerIDs; datasourceID: string }) {
  const read = useRefusals(ids);
  const { data, refetch } = read;
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton h={160} />;
  if (data.length === 0) return <Text size="sm">No delivery was refused in the last 24 hours.</Text>;
  const isUnproven = data.some(({ status }) => status === UNPROVEN);
  return (
    <Stack gap="xs">
      <Text size="sm">
        Deliveries of the last 24 hours that this listener has not taken. If many come at once, some of them are
        recorded.
      </Text>
      {isUnproven && (
        <Text size="sm">
          <strong>What to do: </strong>
          If they come from a sender that you know, its secret and the one here differ: give both the same one.
        </Text>
      )}
      {isUnproven && (
        <Link
          className="link"
          to="/t/$tenantID/datasources/$datasourceID"
          params={{ tenantID: ids.tenantID, datasourceID }}
        >
          Change the secret here
        </Link>
      )}
      {data.map((refusal) => (
        <One key={refusal.refusalID} refusal={refusal} />
      ))}
    </Stack>
  );
}

function One({ refusal }: { refusal: Refusal }) {
  const { refusedAt, status, reason, address, method, path, parameters, headers, bodyStart, bodyBytes, omitted } =
    refusal;
  return (
    <details className="group">
      <summary>
        <Ago at={refusedAt} />, {status}: <Words text={reason} />
      </summary>
      <Stack gap="xs">
        <dl className="facts">
          <div>
            <dt>From</dt>
            <dd>{address ?? 'unknown'}</dd>
          </div>
          <div>
            <dt>Request</dt>
            <dd className="breaks">
              <code>
                {method} {path}
                {parameters.length > 0 && `?${parameters.map((name) => `${name}=…`).join('&')}`}
              </code>
            </dd>
          </div>
        </dl>
        <div>
          <Text size="sm">Headers, without what may be secret</Text>
          <JSONView
            value={headers.map((header) => header.join(': ')).join('\n')}
            label="Headers of the refused delivery"
          />
        </div>
        <div>
          <Text size="sm">{bodyWords(bodyStart, bodyBytes)}</Text>
          {bodyStart !== null && bodyStart !== '' && (
            <JSONView value={bodyStart} label="Body of the refused delivery" />
          )}
        </div>
        {omitted > 0 && (
          <Text size="sm">
            {countOf(omitted, 'refusal')} before it {omitted === 1 ? 'was' : 'were'} not recorded.
          </Text>
        )}
      </Stack>
    </details>
  );
}

function bodyWords(start: string | null, bytes: number | null): string {
  if (bytes === null || start === null) return 'Its body was not read.';
  if (bytes === 0) return 'It had no body.';
  return bytes > 2_048 ? `The first 2 kB of ${bytes.toLocaleString()} bytes of its body` : 'Its body';
}
