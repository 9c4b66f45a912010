import { Button, Menu, Paper, Select, Skeleton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { every } from '../client/every.ts';
import { useLiveRuns } from '../client/live-runs.ts';
import { useMay } from '../client/may.ts';
import { useAuthorNames } from '../client/members.ts';
import { runsRead, workflowsRead } from '../client/reads.ts';
import { type RunFilter, runStatuses } from '../client/run-filter.ts';
import { SLOW_MS } from '../client/tenant-room.ts';
import type { RunSummary } from '../client/types.ts';
import { wordOfCode } from '../run/error-words.ts';
import type { Action } from '../run/many-runs.tsx';
import { nameOfStarter, originOf } from '../run/origin.ts';
import { TimeFilter } from '../run/time-filter.tsx';
import { Empty } from '../ui/empty.tsx';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Status, wordOf } from '../ui/status.tsx';
import { PageButtons } from '../ui/table.tsx';
import { TextFilter } from '../ui/text-filter.tsx';
import { Ago, Duration } from '../ui/time.tsx';

const StartRun = lazy(() => import('../run/start-run.tsx').then(({ StartRun: one }) => ({ default: one })));
const MoreFilters = lazy(() => import('../run/more-filters.tsx').then(({ MoreFilters: one }) => ({ default: one })));
const ManyRuns = lazy(() => import('../run/many-runs.tsx').then(({ ManyRuns: one }) => ({ default: one })));

export function RunsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/runs' });
  const filter = useSearch({ from: '/shell/t/$tenantID/runs' });
  const read = runsRead(tenantID, filter);
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery({ ...read, refetchInterval: every(SLOW_MS) });
  const navigate = useNavigate({ from: '/t/$tenantID/runs' });
  const [isStarting, starting] = useDisclosure(false);
  const [action, setAction] = useState<Action>();
  useLiveRuns(read.queryKey, data?.instances ?? []);
  return (
    <>
      <PageTitle title="Runs">
        <Button
          variant="default"
          renderRoot={(props) => <Link {...props} to="/t/$tenantID/batches" params={{ tenantID }} search={{}} />}
        >
          Batches
        </Button>
        <May permission="workflow.execute">
          <OfAll onChoose={setAction} />
          <Button leftSection={<Icon name="play" />} onClick={starting.open}>
            Start a run
          </Button>
        </May>
      </PageTitle>
      <Filters tenantID={tenantID} filter={filter} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {isPending && <Skeleton h={320} />}
      {data && (
        <div className="panel" aria-busy={isPlaceholderData}>
          {data.instances.length === 0 ? (
            <NoRuns isFiltered={Object.keys(filter).length > 0} onStart={starting.open} />
          ) : (
            <RunTable tenantID={tenantID} runs={data.instances} />
          )}
        </div>
      )}
      <PageButtons
        cursor={filter.cursor}
        next={data?.nextCursor}
        onGo={(cursor) =>
          void navigate({ search: ({ cursor: _, ...others }) => ({ ...others, ...(cursor && { cursor }) }) })
        }
      />
      {isStarting && (
        <Suspense>
          <StartRun tenantID={tenantID} onClose={starting.close} />
        </Suspense>
      )}
      {action && (
        <Suspense>
          <ManyRuns tenantID={tenantID} filter={filter} action={action} onClose={() => setAction(undefined)} />
        </Suspense>
      )}
    </>
  );
}

/** Actions on every run that the filter finds, also those on other pages. */
function OfAll({ onChoose }: { onChoose: (action: Action) => void }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default">Cancel or re-run all</Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>All runs that the filter finds</Menu.Label>
        <Menu.Item leftSection={<Icon name="ban" />} onClick={() => onChoose('cancel')}>
          Cancel
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="again" />} onClick={() => onChoose('rerun')}>
          Re-run
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Filters({ tenantID, filter }: { tenantID: string; filter: RunFilter }) {
  const navigate = useNavigate({ from: '/t/$tenantID/runs' });
  const may = useMay();
  const { data: workflows = [] } = useQuery({ ...workflowsRead(tenantID), enabled: may('workflow.list') });
  const [isMore, setMore] = useState(false);
  const hasMore = Boolean(filter.origin || filter.tag || filter.errorCode);
  // The other filters stay; only the page is another one.
  const set = (change: { [K in keyof RunFilter]?: RunFilter[K] | undefined }) => {
    const next = Object.entries({ ...filter, ...change, cursor: undefined });
    void navigate({ search: Object.fromEntries(next.filter(([, value]) => value !== undefined && value !== '')) });
  };
  return (
    <search aria-label="Filter runs">
      <Paper withBorder p="sm" mb="md" className="filters">
        <TextFilter
          label="Search"
          placeholder="Id, tag or title"
          value={filter.search}
          onSet={(search) => set({ search })}
        />
        <Select
          label="Status"
          placeholder="Any"
          clearable
          clearButtonProps={{ 'aria-label': 'Any status' }}
          data={runStatuses.map((value) => ({ value, label: wordOf(value) }))}
          value={filter.status ?? null}
          onChange={(value) => set({ status: runStatuses.find((one) => one === value) })}
        />
        <Select
          label="Workflow"
          placeholder="Any"
          clearable
          clearButtonProps={{ 'aria-label': 'Any workflow' }}
          searchable
          data={workflows.map(({ id, title }) => ({ value: id, label: title }))}
          value={filter.workflowID ?? null}
          onChange={(value) => set({ workflowID: value ?? undefined })}
        />
        <TimeFilter filter={filter} onSet={set} />
        {isMore || hasMore ? (
          <Suspense>
            <MoreFilters filter={filter} onSet={set} />
          </Suspense>
        ) : (
          <Button variant="default" onClick={() => setMore(true)}>
            More filters
          </Button>
        )}
        {(filter.rerunOf || filter.root || filter.batch) && (
          <Button
            variant="default"
            leftSection={<Icon name="cross" />}
            onClick={() => set({ rerunOf: undefined, root: undefined, batch: undefined })}
          >
            {filter.batch ? 'Runs of one batch' : filter.rerunOf ? 'Re-runs of one run' : 'Runs under one run'}
          </Button>
        )}
      </Paper>
    </search>
  );
}

function RunTable({ tenantID, runs }: { tenantID: string; runs: readonly RunSummary[] }) {
  const authorOf = useAuthorNames(tenantID);
  return (
    <div className="scroller">
      <table className="list dense">
        <caption className="unseen">Runs, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Workflow</th>
            <th scope="col">Status</th>
            <th scope="col">Accepted</th>
            <th scope="col" className="wide">
              Duration
            </th>
            <th scope="col" className="wide">
              Started by
            </th>
            <th scope="col" className="wide">
              Version
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Row key={run.instanceID} tenantID={tenantID} run={run} starter={starterOf(run, authorOf)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The person or key, else the kind of what started the run. */
function starterOf(run: RunSummary, authorOf: ReturnType<typeof useAuthorNames>): ReactNode {
  const { startedBy, isTest, origin } = run;
  if (!startedBy) return originOf(run);
  return (
    <>
      <bdi>{nameOfStarter(startedBy, authorOf)}</bdi>
      {(isTest || origin !== 'direct') && <span className="note"> · {originOf(run)}</span>}
    </>
  );
}

interface RowProps {
  tenantID: string;
  run: RunSummary;
  starter: ReactNode;
}

function Row({ tenantID, run, starter }: RowProps) {
  const { instanceID, workflowTitle, versionNumber, status, errorCode, tags } = run;
  return (
    <tr>
      <td>
        <div className="clip">
          <Link to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} className="link">
            <bdi>{workflowTitle ?? 'Unsaved workflow'}</bdi>
          </Link>{' '}
          <span className="note">
            <code>{instanceID.slice(-8)}</code>
            {tags.map((tag) => (
              <Tag key={tag}>{tag}</Tag>
            ))}
          </span>
        </div>
      </td>
      <td>
        <Status of={status} />{' '}
        {errorCode && (
          <span className="note" title={errorCode}>
            {wordOfCode(errorCode)}
          </span>
        )}
      </td>
      <td>
        <Ago at={run.createdAt} />
      </td>
      <td className="wide">
        <Duration from={run.startedAt} to={run.completedAt} />
      </td>
      <td className="wide">
        <div className="clip">{starter}</div>
      </td>
      <td className="wide">{versionNumber ?? '–'}</td>
    </tr>
  );
}

function Tag({ children }: { children: ReactNode }) {
  return <span> · {children}</span>;
}

function NoRuns({ isFiltered, onStart }: { isFiltered: boolean; onStart: () => void }) {
  if (isFiltered) return <Empty>No run matches the filter.</Empty>;
  const first = (
    <May permission="workflow.execute">
      <Button onClick={onStart}>Start the first run</Button>
    </May>
  );
  return (
    <Empty action={first}>
      No run yet. A run is one execution of a workflow: a person starts it, or a cron job, a webhook or a program. The
      results of its steps are shown here.
    </Empty>
  );
}
