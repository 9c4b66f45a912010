import { Checkbox, Group, Skeleton, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { useMay, usePermissions } from '../client/may.ts';
import { QUESTIONS, requestsRead, workflowsRead } from '../client/reads.ts';
import type { ToolCall } from '../client/tool-approvals.ts';
import { toolCallsRead } from '../client/tool-calls.ts';
import type { Schemas } from '../client/types.ts';
import { CallState, useCallerName } from '../inbox/call.tsx';
import { CallLine } from '../ui/call-values.tsx';
import { Empty } from '../ui/empty.tsx';
import { wordsOfName } from '../ui/field-words.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { questionKind, questionLine, questionTitle } from '../ui/question.ts';
import { type Column, PageButtons, Table } from '../ui/table.tsx';
import { Ago, Moment } from '../ui/time.tsx';

const from = '/shell/t/$tenantID/inbox';

/** Work that waits for the caller: questions of runs, and tool calls that a person decides. */
export function InboxPage() {
  const { tenantID } = useParams({ from });
  const may = useMay();
  const permissions = usePermissions(tenantID);
  return (
    <>
      <PageTitle title="Inbox" />
      <Stack>
        {may('workflow.execute') && <Questions tenantID={tenantID} />}
        {may('ai.approve') && <Calls tenantID={tenantID} />}
        {permissions && !may('workflow.execute') && !may('ai.approve') && (
          <Text>You may neither answer questions nor decide on calls here.</Text>
        )}
      </Stack>
    </>
  );
}

interface ListProps<T> {
  title: string;
  empty: string;
  error: Error | null;
  onRetry: () => void;
  rows: readonly T[] | undefined;
  idOf: (row: T) => string;
  columns: readonly Column<T>[];
  /** Beside the title. */
  children?: ReactNode;
}

function List<T>({ title, empty, error, onRetry, rows, idOf, columns, children }: ListProps<T>) {
  return (
    <section aria-label={title}>
      <Group justify="space-between" mb="xs">
        <Text component="h2" fw={600}>
          {title}
        </Text>
        {children}
      </Group>
      {error && <Problem error={error} onRetry={onRetry} />}
      {!rows && !error && <Skeleton h={120} />}
      {rows && (
        <div className="panel scroller">
          {rows.length === 0 ? (
            <Empty>{empty}</Empty>
          ) : (
            <Table caption={title} columns={columns} rows={rows} idOf={idOf} />
          )}
        </div>
      )}
    </section>
  );
}

function Questions({ tenantID }: { tenantID: string }) {
  const [page, setPage] = useState(1);
  const { data, error, refetch } = useQuery({ ...requestsRead(tenantID, page), placeholderData: keepPreviousData });
  const hasMore = page * QUESTIONS < (data?.totalCount ?? 0);
  const titles = useTitles(
    tenantID,
    data?.requests.flatMap(({ workflowID }) => workflowID ?? []),
  );
  const columns: Column<Schemas['CollectionRequest']>[] = [
    {
      head: 'Question',
      cell: (request) => (
        <>
          <Link
            className="link"
            to="/t/$tenantID/inbox/$requestID"
            params={{ tenantID, requestID: request.collectionRequestID }}
          >
            <bdi>{questionTitle(request)}</bdi>
          </Link>
          <div className="note clip">{questionLine(request, titles.get(request.workflowID ?? ''))}</div>
        </>
      ),
    },
    { head: 'Kind', cell: (request) => questionKind(request) },
    { head: 'Asked', cell: ({ createdAt }) => <Ago at={createdAt} /> },
    { head: 'Expires', cell: ({ expiresAt }) => (expiresAt ? <Moment at={expiresAt} /> : 'never'), isWide: true },
  ];
  return (
    <>
      <List
        title="Questions for you"
        empty="No question waits for an answer. A workflow that needs a decision or values of a person asks for them here."
        error={error}
        onRetry={() => void refetch()}
        rows={data?.requests}
        idOf={({ collectionRequestID }) => collectionRequestID}
        columns={columns}
      />
      <PageButtons
        cursor={page > 1 ? String(page) : undefined}
        next={hasMore ? String(page + 1) : null}
        onGo={(next) => setPage(Number(next ?? 1))}
      />
    </>
  );
}

/** Titles of workflows by their ids. The list is read again, once for each, when it lacks one: it is older than the workflow. */
function useTitles(tenantID: string, ids: readonly string[] = []): ReadonlyMap<string, string> {
  const may = useMay();
  const { data, refetch } = useQuery({ ...workflowsRead(tenantID), enabled: may('workflow.list') });
  const titles = useMemo(() => new Map(data?.map(({ id, title }) => [id, title])), [data]);
  const lacking = data ? [...new Set(ids)].filter((id) => !titles.has(id)).toSorted() : [];
  const named = lacking.join(' ');
  useEffect(() => {
    if (named !== '') void refetch();
  }, [named, refetch]);
  return titles;
}

/** Calls over MCP that wait for a person; on request also those that have waited. */
function Calls({ tenantID }: { tenantID: string }) {
  const { calls, cursor } = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/inbox' });
  const isWaiting = calls !== 'all';
  const { data, error, refetch } = useQuery(toolCallsRead(tenantID, { isWaiting, ...(cursor && { cursor }) }));
  const callerOf = useCallerName(tenantID);
  const columns: Column<ToolCall>[] = [
    {
      head: 'Call',
      cell: ({ toolCallID, tool, input }) => (
        <>
          <Link className="link" to="/t/$tenantID/inbox/calls/$toolCallID" params={{ tenantID, toolCallID }}>
            {wordsOfName(tool)}
          </Link>
          <div className="note clip">
            <CallLine of={input} />
          </div>
        </>
      ),
    },
    { head: 'State', cell: (call) => <CallState of={call} /> },
    { head: 'Caller', cell: ({ caller }) => <bdi>{callerOf(caller)}</bdi>, isWide: true },
    { head: 'Asked', cell: ({ createdAt }) => <Ago at={createdAt} /> },
    { head: 'Expires', cell: ({ expiresAt }) => <Moment at={expiresAt} />, isWide: true },
  ];
  return (
    <>
      <List
        title="Tools to approve"
        empty={
          isWaiting
            ? 'No call waits for a decision. AI clients that want to use a tool which needs approval ask for it here.'
            : 'No call has waited yet.'
        }
        error={error}
        onRetry={() => void refetch()}
        rows={data?.toolApprovals}
        idOf={({ toolCallID }) => toolCallID}
        columns={columns}
      >
        <Checkbox
          label="Show decided calls"
          checked={!isWaiting}
          onChange={({ currentTarget: { checked } }) => void navigate({ search: checked ? { calls: 'all' } : {} })}
        />
      </List>
      {!isWaiting && (
        <PageButtons
          cursor={cursor}
          next={data?.nextCursor}
          onGo={(next) => void navigate({ search: { calls: 'all', ...(next && { cursor: next }) } })}
        />
      )}
    </>
  );
}
