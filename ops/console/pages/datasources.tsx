import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { parseListFilter } from '../client/list-filter.ts';
import { datasourceFormsRead, datasourcesRead, testDatasource } from '../client/sources.ts';
import type { Schemas } from '../client/types.ts';
import { ConnectionStatus } from '../datasource/status.tsx';
import { AssetList } from '../ui/asset-list.tsx';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

type Row = Schemas['Datasource'];
const from = '/shell/t/$tenantID/datasources';

/** Where queries and listeners connect to. */
export function DatasourcesPage() {
  const { tenantID } = useParams({ from });
  const filter = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/datasources' });
  const read = useQuery(datasourcesRead(tenantID, filter));
  const { data: forms } = useQuery(datasourceFormsRead(tenantID));
  const create = () => void navigate({ to: '/t/$tenantID/datasources/new', params: { tenantID } });
  const columns: Column<Row>[] = [
    {
      head: 'Title',
      cell: ({ datasourceID, datasourceTitle }) => (
        <Link className="link" to="/t/$tenantID/datasources/$datasourceID" params={{ tenantID, datasourceID }}>
          <bdi>{datasourceTitle}</bdi>
        </Link>
      ),
    },
    { head: 'Type', cell: ({ datasourceType }) => forms?.[datasourceType]?.label ?? '…', isWide: true },
    { head: 'Connection', cell: (row) => <Connection row={row} /> },
    { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} />, isWide: true },
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
      titleOf={({ datasourceTitle }) => datasourceTitle}
      columns={columns}
      empty="No datasource yet. A datasource is the connection to a database, a service, a mailbox or files, with its credentials. The tables under Database need none."
      first={
        <May permission="datasource.create" on="datasource:*">
          <Button onClick={create}>Connect the first datasource</Button>
        </May>
      }
      actions={
        <May permission="datasource.create" on="datasource:*">
          <Button leftSection={<Icon name="plus" />} onClick={create}>
            New datasource
          </Button>
        </May>
      }
    />
  );
}

function Connection({ row }: { row: Row }) {
  const { tenantID, datasourceID, datasourceTitle } = row;
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () => testDatasource({ tenantID, datasourceID }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['datasources', tenantID] }),
  });
  return (
    <>
      <ConnectionStatus of={row} />{' '}
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
