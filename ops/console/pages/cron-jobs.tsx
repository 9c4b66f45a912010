import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { cronJobsRead } from '../client/cron.ts';
import { parseListFilter } from '../client/list-filter.ts';
import type { Schemas } from '../client/types.ts';
import { CronJobForm } from '../cron/form.tsx';
import { AssetList } from '../ui/asset-list.tsx';
import { CronState } from '../ui/cron-state.tsx';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import type { Column } from '../ui/table.tsx';
import { Moment } from '../ui/time.tsx';

type Row = Schemas['CronJob'];
const from = '/shell/t/$tenantID/cron';

/** The list of cron jobs. */
export function CronJobsPage() {
  const { tenantID } = useParams({ from });
  const filter = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/cron' });
  const queries = useQueryClient();
  const [isNew, asNew] = useDisclosure(false);
  const read = useQuery(cronJobsRead(tenantID, filter));
  const columns: Column<Row>[] = [
    {
      head: 'Title',
      cell: ({ cronJobID, cronJobTitle }) => (
        <Link className="link" to="/t/$tenantID/cron/$cronJobID" params={{ tenantID, cronJobID }}>
          <bdi>{cronJobTitle}</bdi>
        </Link>
      ),
    },
    { head: 'State', cell: (row) => <CronState of={row} /> },
    { head: 'When', cell: ({ scheduleDescription }) => scheduleDescription, isWide: true },
    { head: 'Next', cell: ({ nextRunAt }) => (nextRunAt ? <Moment at={nextRunAt} /> : '–') },
  ];
  return (
    <>
      <AssetList
        tenantID={tenantID}
        title="Cron jobs"
        entityType="cronJob"
        filter={filter}
        onFilter={(next) => void navigate({ search: parseListFilter({ ...next }) })}
        read={read}
        idOf={({ cronJobID }) => cronJobID}
        titleOf={({ cronJobTitle }) => cronJobTitle}
        columns={columns}
        empty="No cron job yet. A cron job starts a workflow or runs a query at set times, such as every hour or on weekdays at nine."
        first={
          <May permission="cronjob.create" on="cronjob:*">
            <Button onClick={asNew.open}>Schedule the first one</Button>
          </May>
        }
        actions={
          <May permission="cronjob.create" on="cronjob:*">
            <Button leftSection={<Icon name="plus" />} onClick={asNew.open}>
              New cron job
            </Button>
          </May>
        }
      />
      {isNew && (
        <CronJobForm
          tenantID={tenantID}
          onSaved={async (cronJobID) => {
            await queries.invalidateQueries({ queryKey: ['cron-jobs', tenantID] });
            await navigate({ to: '/t/$tenantID/cron/$cronJobID', params: { tenantID, cronJobID } });
          }}
          onClose={asNew.close}
        />
      )}
    </>
  );
}
