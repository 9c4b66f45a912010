import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { parseListFilter } from '../client/list-filter.ts';
import { dataQueriesRead } from '../client/queries-of-tenant.ts';
import type { Schemas } from '../client/types.ts';
import { SourceName } from '../query/source-name.tsx';
import { AssetList } from '../ui/asset-list.tsx';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

type Row = Schemas['DataQuery'];
const from = '/shell/t/$tenantID/queries';

export function QueriesPage() {
  const { tenantID } = useParams({ from });
  const filter = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/queries' });
  const read = useQuery(dataQueriesRead(tenantID, filter));
  const create = () => void navigate({ to: '/t/$tenantID/queries/new', params: { tenantID } });
  const columns: Column<Row>[] = [
    {
      head: 'Title',
      cell: ({ dataQueryID, dataQueryTitle }) => (
        <Link className="link" to="/t/$tenantID/queries/$dataQueryID" params={{ tenantID, dataQueryID }}>
          <bdi>{dataQueryTitle}</bdi>
        </Link>
      ),
    },
    {
      head: 'Datasource',
      cell: ({ datasourceID, datasourceType: type }) => <SourceName {...{ tenantID, datasourceID, type }} />,
    },
    { head: 'State', cell: ({ isDisabled }) => (isDisabled ? 'Disabled' : 'Ready'), isWide: true },
    { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} />, isWide: true },
  ];
  return (
    <AssetList
      tenantID={tenantID}
      title="Queries"
      entityType="dataQuery"
      filter={filter}
      onFilter={(next) => void navigate({ search: parseListFilter({ ...next }) })}
      read={read}
      idOf={({ dataQueryID }) => dataQueryID}
      titleOf={({ dataQueryTitle }) => dataQueryTitle}
      columns={columns}
      empty="No query yet. A query reads or changes data in a datasource, mostly by SQL. Workflows, cron jobs and app pages run it with inputs of their own."
      first={
        <May permission="dataquery.create" on="dataquery:*">
          <Button onClick={create}>Write the first query</Button>
        </May>
      }
      actions={
        <May permission="dataquery.create" on="dataquery:*">
          <Button leftSection={<Icon name="plus" />} onClick={create}>
            New query
          </Button>
        </May>
      }
    />
  );
}
