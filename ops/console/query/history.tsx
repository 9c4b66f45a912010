import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useMemberNames } from '../client/members.ts';
import { type QueryIDs, queryRunsRead } from '../client/queries-of-tenant.ts';
import type { Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { Problem } from '../ui/problem.tsx';
import { type Column, PageButtons, Scroller, Table } from '../ui/table.tsx';
import { Ago, durationText } from '../ui/time.tsx';
import { Words } from '../ui/words.tsx';

type QueryRun = Schemas['DataQueryRunRecord'];

const origins: Record<QueryRun['caller']['origin'], string> = {
  workflow: 'workflow',
  appPage: 'app page',
  listener: 'listener',
  cron: 'cron job',
  direct: 'by hand',
  test: 'test',
};

interface Props {
  ids: QueryIDs;
  cursor: string | undefined;
  onGo: (cursor: string | undefined) => void;
}

/** The runs of a query: who, when, how long, how many rows, and what went wrong. */
export function History({ ids, cursor, onGo }: Props) {
  const read = useQuery(queryRunsRead(ids, cursor));
  const { data, refetch } = read;
  const nameOf = useMemberNames(ids.tenantID);
  const columns: Column<QueryRun>[] = [
    { head: 'When', cell: ({ startedAt }) => <Ago at={startedAt} /> },
    { head: 'Who', cell: ({ caller }) => <bdi>{callerName(caller)}</bdi> },
    { head: 'Took', cell: ({ durationMs, isCached }) => (isCached ? 'cached' : durationText(durationMs)) },
    {
      head: 'Result',
      cell: ({ rowCount, error: failure }) =>
        failure ? (
          <span className="breaks">
            <span className="status" data-tone="bad">
              Failed
            </span>{' '}
            <Words text={failure.message} />
          </span>
        ) : (
          countOf(rowCount ?? 0, 'row')
        ),
    },
  ];
  function callerName({ type, userID, origin }: QueryRun['caller']): string {
    const who = type === 'system' || !userID ? 'the service' : nameOf(userID);
    return `${type === 'apiKey' ? `API key of ${who}` : who}, ${origins[origin]}`;
  }
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton h={160} />;
  if (data.runs.length === 0) return <Text size="sm">It has not been run yet.</Text>;
  return (
    <>
      <Scroller label="Runs of the query">
        <Table caption="Runs of the query" columns={columns} rows={data.runs} idOf={({ queryRunID }) => queryRunID} />
      </Scroller>
      <PageButtons cursor={cursor} next={data.nextCursor} onGo={onGo} />
    </>
  );
}
