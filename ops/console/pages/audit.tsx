import { Button, Group, Paper, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { EntryPanel } from '../audit/entry-panel.tsx';
import { Filters, wordsOf } from '../audit/filters.tsx';
import { doneOf, Outcome } from '../audit/outcome.tsx';
import { useTools } from '../audit/tools.tsx';
import { auditRead } from '../client/audit.ts';
import { type AuditView, parseAuditView } from '../client/audit-filter.ts';
import { useMemberNames } from '../client/members.ts';
import type { Schemas } from '../client/types.ts';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { type Column, PageButtons, Scroller, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

type Entry = Schemas['AuditLog'];
const from = '/shell/t/$tenantID/audit';

/** Who did what, with which outcome; of one asset, who changed it from what to what. */
export function AuditPage() {
  const { tenantID } = useParams({ from });
  const view = useSearch({ from });
  const { entry: selected, cursor, ...filter } = view;
  const navigate = useNavigate({ from: '/t/$tenantID/audit' });
  const show = (next: AuditView) => void navigate({ search: parseAuditView({ ...next }) });
  const { data, error, refetch } = useQuery(auditRead(tenantID, view));
  const { buttons, said } = useTools({ tenantID, filter });
  return (
    <>
      <PageTitle title={filter.assetID ? 'History of an asset' : 'Audit'}>{buttons}</PageTitle>
      {said}
      {filter.assetID && filter.changes && (
        <Group gap="xs" mb="sm">
          <Text size="sm">What has changed the asset.</Text>
          <Link className="link" to="/t/$tenantID/audit" params={{ tenantID }} search={{ assetID: filter.assetID }}>
            All that was done with it
          </Link>
        </Group>
      )}
      <Filters filter={filter} onFilter={show} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={240} />}
      {data && <Entries tenantID={tenantID} entries={data.auditLogs} view={view} onView={show} />}
      {data && selected && !data.auditLogs.some(({ auditLogID }) => auditLogID === selected) && (
        <Notice tone="wait">The entry of this address is on another page of the list.</Notice>
      )}
      <PageButtons
        cursor={cursor}
        next={data?.nextCursor}
        onGo={(next) => show({ ...filter, ...(next && { cursor: next }) })}
      />
    </>
  );
}

interface EntriesProps {
  tenantID: string;
  entries: readonly Entry[];
  view: AuditView;
  onView: (view: AuditView) => void;
}

function Entries({ tenantID, entries, view, onView }: EntriesProps) {
  const nameOf = useMemberNames(tenantID);
  const actorOf = ({ userID, apiKeyID, metadata }: Entry) => {
    const key = apiKeyID === null ? '' : `key ${String(metadata.apiKeyTitle ?? apiKeyID.slice(-8))} of `;
    return userID === null ? `${key}the system` : key + nameOf(userID);
  };
  const { entry: selected, ...rest } = view;
  const shown = entries.find(({ auditLogID }) => auditLogID === selected);
  const columns: Column<Entry>[] = [
    {
      head: 'When',
      cell: ({ auditLogID, createdAt }) => (
        <Button size="compact-sm" variant="default" onClick={() => onView({ ...rest, entry: auditLogID })}>
          <Ago at={createdAt} />
        </Button>
      ),
    },
    { head: 'By', cell: (row) => <Clipped text={actorOf(row)} />, isWide: true },
    {
      head: 'What',
      cell: (row) => (
        <>
          <bdi>{doneOf(row)}</bdi>
          <div className="note narrow">
            by <bdi>{actorOf(row)}</bdi>
          </div>
        </>
      ),
    },
    { head: 'Outcome', cell: (row) => <Outcome of={row} /> },
    { head: 'Action', cell: ({ type }) => wordsOf(type), isWide: true },
  ];
  if (entries.length === 0)
    return (
      <Text className="panel" p="xl" ta="center" c="dimmed">
        No entry on this page matches the filter.
      </Text>
    );
  return (
    <div className={shown ? 'split beside' : undefined}>
      <Scroller label="Entries" isPanel>
        <Table
          caption="Entries, newest first"
          columns={columns}
          rows={entries}
          idOf={({ auditLogID }) => auditLogID}
          selected={selected}
        />
      </Scroller>
      {shown && (
        <Paper withBorder p="sm">
          <EntryPanel key={selected} entry={shown} actor={actorOf(shown)} onClose={() => onView(rest)} />
        </Paper>
      )}
    </div>
  );
}

function Clipped({ text }: { text: string }) {
  return (
    <div className="clip" title={text}>
      <bdi>{text}</bdi>
    </div>
  );
}
