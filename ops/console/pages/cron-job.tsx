import { Button, Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import {
  actOnCronJob,
  type CronJobIDs,
  cronJobRead,
  deleteCronJob,
  nextTicksRead,
  saveCronJob,
  ticksRead,
} from '../client/cron.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { referenceRead } from '../client/references.ts';
import type { Schemas } from '../client/types.ts';
import { Backfills } from '../cron/backfills.tsx';
import { CronJobForm } from '../cron/form.tsx';
import { CallValues } from '../ui/call-values.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { CronState } from '../ui/cron-state.tsx';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { MoreButton, Scroller } from '../ui/table.tsx';
import { Ago, LocalMoment } from '../ui/time.tsx';
import { WhoChanged } from '../ui/who-changed.tsx';
import { Words } from '../ui/words.tsx';

type Tick = Schemas['CronJobHistory'];

/** When a cron job runs next, and what became of the times before. */
export function CronJobPage() {
  const ids = useParams({ from: '/shell/t/$tenantID/cron/$cronJobID' });
  const queries = useQueryClient();
  const read = useQuery(cronJobRead(ids));
  const { data: job, refetch } = read;
  const error = errorInPlaceOf(read);
  const act = useMutation({
    mutationFn: (verb: 'run' | 'pause' | 'resume' | 'enable') =>
      verb === 'enable' ? saveCronJob(ids, { cronJobEnabled: true }) : actOnCronJob(ids, verb),
    onSettled: () => queries.invalidateQueries({ queryKey: ['cron-job', ids] }),
  });
  if (error)
    return (
      <>
        <PageTitle title="Cron job" />
        <Problem error={error} onRetry={() => void refetch()} />
      </>
    );
  if (!job) return <Skeleton h={320} />;
  return (
    <>
      <PageTitle title={job.cronJobTitle} beside={<CronState of={job} />}>
        <WhoChanged tenantID={ids.tenantID} assetID={ids.cronJobID} />
        <Changes ids={ids} job={job} />
        <May permission="cronjob.update" on={`cronjob:${ids.cronJobID}`}>
          <Button variant="default" loading={act.isPending} onClick={() => act.mutate(switchOf(job))}>
            {switchWords[switchOf(job)]}
          </Button>
          <Button leftSection={<Icon name="play" />} loading={act.isPending} onClick={() => act.mutate('run')}>
            Run now
          </Button>
        </May>
      </PageTitle>
      <Stack>
        {act.error && <Problem error={act.error} />}
        {job.stopReason && (
          <Notice tone="bad" title="Stopped">
            {job.stopReason}
          </Notice>
        )}
        <Text size="sm">
          {job.scheduleDescription}, written as <code className="nowrap">{job.cronJobSchedule}</code>
        </Text>
        <Target tenantID={ids.tenantID} config={job.cronJobConfig} />
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Paper withBorder p="md" component="section" aria-label="Next runs">
            <Text component="h2" fw={600} mb="xs">
              Next runs
            </Text>
            {job.state !== 'scheduled' && (
              <Text size="sm">
                They would be these; none happens until the job is {job.state === 'disabled' ? 'enabled' : 'resumed'}.
              </Text>
            )}
            <NextTicks ids={ids} />
          </Paper>
          <Paper withBorder p="md" component="section" aria-label="History">
            <Text component="h2" fw={600} mb="xs">
              History
            </Text>
            <Ticks ids={ids} />
          </Paper>
          <Paper withBorder p="md" component="section" aria-label="Missed times">
            <Text component="h2" fw={600} mb="xs">
              Missed times
            </Text>
            <Backfills ids={ids} />
          </Paper>
        </SimpleGrid>
      </Stack>
    </>
  );
}

const switchWords = { enable: 'Enable', resume: 'Resume', pause: 'Pause' } as const;

/** Copies and imported jobs are disabled until a person enables them. */
function switchOf({ state }: Schemas['CronJob']): keyof typeof switchWords {
  if (state === 'disabled') return 'enable';
  return state === 'scheduled' ? 'pause' : 'resume';
}

/** The workflow or query of the job by its title, with the way there. */
function Target({ tenantID, config }: { tenantID: string; config: Schemas['CronJob']['cronJobConfig'] }) {
  const {
    workflowID,
    dataQueryID,
    inputValues = {},
  } = config as {
    workflowID?: string;
    dataQueryID?: string;
    inputValues?: object;
  };
  const type = workflowID ? 'workflow' : 'dataQuery';
  const id = workflowID ?? dataQueryID;
  const { data } = useQuery({ ...referenceRead(tenantID, type, id ?? ''), enabled: id !== undefined });
  if (id === undefined) return null;
  const title = data?.title || id.slice(-8);
  const target = (
    <Text size="sm">
      {type === 'workflow' ? 'Starts the workflow ' : 'Runs the query '}
      {type === 'workflow' ? (
        <Link className="link" to="/t/$tenantID/workflows/$workflowID" params={{ tenantID, workflowID: id }}>
          <bdi>{title}</bdi>
        </Link>
      ) : (
        <Link className="link" to="/t/$tenantID/queries/$dataQueryID" params={{ tenantID, dataQueryID: id }}>
          <bdi>{title}</bdi>
        </Link>
      )}
      {Object.keys(inputValues).length > 0 ? ' with these inputs:' : ' without inputs'}
    </Text>
  );
  return (
    <div>
      {target}
      <CallValues of={inputValues} />
    </div>
  );
}

/** Changes of the job itself. */
function Changes({ ids, job }: { ids: CronJobIDs; job: Schemas['CronJob'] }) {
  const { tenantID } = ids;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<'change' | 'delete'>();
  const close = () => setAsked(undefined);
  return (
    <>
      <RowMenu
        of={job.cronJobTitle}
        on={`cronjob:${ids.cronJobID}`}
        actions={[
          { label: 'Delete', permission: 'cronjob.delete', onClick: () => setAsked('delete'), isDangerous: true },
        ]}
      />
      <May permission="cronjob.update" on={`cronjob:${ids.cronJobID}`}>
        <Button variant="default" onClick={() => setAsked('change')}>
          Change
        </Button>
      </May>
      {asked === 'change' && (
        <CronJobForm
          tenantID={tenantID}
          job={job}
          onSaved={() => queries.invalidateQueries({ queryKey: ['cron-job', ids] })}
          onClose={close}
        />
      )}
      {asked === 'delete' && (
        <Confirm
          title="Delete the cron job"
          question={`“${job.cronJobTitle}” and its history are deleted. Runs that it has started go on.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteCronJob(ids);
            await queries.invalidateQueries({ queryKey: ['cron-jobs', tenantID] });
            await navigate({ to: '/t/$tenantID/cron', params: { tenantID } });
          }}
          onClose={close}
        />
      )}
    </>
  );
}

function NextTicks({ ids }: { ids: CronJobIDs }) {
  const read = useQuery(nextTicksRead(ids));
  const preview = read.data;
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} />;
  return (
    <ol className="lines prose">
      {preview?.runs.map(({ at, local }) => (
        <li key={at}>
          <LocalMoment at={at} local={local} />
        </li>
      ))}
    </ol>
  );
}

const outcomeWords: Record<Tick['outcome'], string> = {
  fired: 'Started',
  queued: 'Waited for the run before',
  caughtUp: 'Caught up later',
  skipped: 'Skipped',
  missed: 'Missed',
  refused: 'Refused',
};

/** Their status is that of a failure in the API, although nothing ran that could fail. */
const neverStarted: ReadonlySet<Tick['outcome']> = new Set(['skipped', 'missed', 'refused']);

function Ticks({ ids }: { ids: CronJobIDs }) {
  const read = useInfiniteQuery(ticksRead(ids));
  const ticks = read.data?.pages.flatMap(({ cronJobHistory }) => cronJobHistory);
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} />;
  if (ticks?.length === 0) return <Text size="sm">None yet.</Text>;
  return (
    <Scroller label="History">
      <table className="list">
        <caption className="unseen">Times when the job was due, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Due</th>
            <th scope="col">Outcome</th>
            <th scope="col">Run</th>
          </tr>
        </thead>
        <tbody>
          {ticks?.map((tick) => (
            <tr key={tick.cronJobHistoryID}>
              <td>
                <Ago at={tick.scheduledAt} />
              </td>
              <td>
                {outcomeWords[tick.outcome]}
                {tick.triggerType === 'MANUAL' && ' by hand'}
                {tick.status === 'FAILURE' && !neverStarted.has(tick.outcome) && ', failed'}
                {(tick.reason ?? tick.error) && (
                  <div className="note">
                    <Words text={tick.error?.message ?? tick.reason ?? ''} />
                    {tick.blockedByInstanceID && (
                      <>
                        :{' '}
                        <Link
                          className="link"
                          to="/t/$tenantID/runs/$instanceID"
                          params={{ tenantID: ids.tenantID, instanceID: tick.blockedByInstanceID }}
                          search={{}}
                        >
                          that run
                        </Link>
                      </>
                    )}
                  </div>
                )}
              </td>
              <td>
                {tick.instanceID ? (
                  <Link
                    className="link"
                    to="/t/$tenantID/runs/$instanceID"
                    params={{ tenantID: ids.tenantID, instanceID: tick.instanceID }}
                    search={{}}
                  >
                    Run
                  </Link>
                ) : (
                  '–'
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <MoreButton of={read} />
    </Scroller>
  );
}
