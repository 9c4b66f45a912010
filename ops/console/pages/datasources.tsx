import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { datasourcesRead, testDatasource } from '../client/sources.ts';
import type { Schemas } from '../client/types.ts';
import { AssetList } from '../ui/asset-list.tsx';
import { parseListFilter } from '../ui/list-filter.ts';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import type { Tone } from '../ui/status.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { WhoChanged } from '../ui/who-changed.tsx';

type Row = Schemas['Datasource'];
const from = '/shell/t/$tenantID/datasources';

const looks: Record<Row['connectionStatus'], { word: string; tone: Tone }> = {
  unknown: { word: 'Not tested', tone: 'idle' },
  connected: { word: 'Connected', tone: 'ok' },
  failed: { word: 'Failed', tone: 'bad' },
};

/** Where queries and listeners connect to. */
export function DatasourcesPage() {
  const { tenantID } = useParams({ from });
  const filter = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/datasources' });
  const read = useQuery(datasourcesRead(tenantID, filter));
  const columns: Column<Row>[] = [
    { head: 'Title', cell: ({ datasourceTitle }) => <bdi>{datasourceTitle}</bdi> },
    { head: 'Type', cell: ({ datasourceType }) => datasourceType },
    { head: 'Connection', cell: (row) => <Connection row={row} /> },
    { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} />, isWide: true },
    {
      head: 'History',
      cell: ({ datasourceID }) => <WhoChanged tenantID={tenantID} assetID={datasourceID} />,
      isWide: true,
    },
  ];
  return (
    <AssetList
      tenantID={tenantID}
      title="Datasources"
      entityType="datasource"
      filter={filter}
      onFilter={(next) => void navigate({ search: parseListFilter({ ...next }) })}
      read={read}
      idOf={({ datasourceID }) => datasourceID}
      columns={columns}
      empty="No datasource yet."
    />
  );
}

function Connection({ row }: { row: Row }) {
  const { tenantID, datasourceID, datasourceTitle, connectionStatus, testedAt } = row;
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () => testDatasource({ tenantID, datasourceID }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['datasources', tenantID] }),
  });
  const { word, tone } = looks[connectionStatus];
  return (
    <>
      <span className="status" data-tone={tone}>
        {word}
      </span>{' '}
      {testedAt && <Ago at={testedAt} />}{' '}
      <May permission="datasource.test" on={`datasource:${datasourceID}`}>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Test ${datasourceTitle}`}
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          Test
        </Button>
      </May>
      {test.error && <Problem error={test.error} />}
    </>
  );
}
