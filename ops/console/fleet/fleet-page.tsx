import { Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import type { Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Restored } from '../ui/restored.tsx';
import type { Column } from '../ui/table.tsx';
import { TextFilter } from '../ui/text-filter.tsx';
import { Ago, durationText } from '../ui/time.tsx';
import { board } from './board.ts';
import { fleetRead, foundRead, unlessLive } from './client.ts';
import { HoursPanel } from './hours-panel.tsx';
import { useFleetRoom } from './live.ts';
import { Age, Backlog, countText, LiveMark, Panel, PausedQueues, QueueLink, Rows, Section } from './parts.tsx';
import { WaitsPanel } from './waits-panel.tsx';
import { WorkerState } from './worker-state.tsx';

/** Waiting, work and failures of the fleet, for people on call. */
export function FleetPage({ search, onSearch }: { search: string | undefined; onSearch: (text?: string) => void }) {
  const connection = useFleetRoom();
  const { data, error, refetch } = useQuery({ ...fleetRead, ...unlessLive(connection === 'live') });
  return (
    <>
      <PageTitle title="Fleet" beside={<LiveMark connection={connection} />} />
      <search aria-label="Find a tenant">
        <Paper withBorder p="sm" className="filters">
          <TextFilter label="Find a tenant by its title" value={search} onSet={onSearch} />
        </Paper>
      </search>
      {search !== undefined && <Found search={search} />}
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={400} />}
      {data && <Parts of={data} />}
    </>
  );
}

function Parts({
  of: { restore, backlog, tenants, workers, failures, slowNodes, speeds, hours, pausedQueues },
}: {
  of: Schemas['Fleet'];
}) {
  const lost = workers.rows.filter(({ state }) => state === 'lost' || state === 'overdue').length;
  return (
    <>
      {restore && <DeferredWork restore={restore} />}
      <PausedQueues names={pausedQueues} />
      <Backlog at={backlog.at} rows={backlog.rows} empty="Nothing waits." />
      <WaitsPanel backlog={backlog} />
      <Panel
        title="Tenants by backlog"
        at={tenants.at}
        columns={tenantColumns}
        rows={tenants.rows}
        idOf={({ tenantID }) => tenantID}
        empty="No tenant waits."
      />
      <Panel
        title="Workers"
        at={workers.at}
        said={`${lost} lost within the hour`}
        columns={workerColumns}
        rows={workers.rows}
        idOf={({ workerID }) => workerID}
        empty="No worker is running."
      />
      <HoursPanel hours={hours} />
      <Panel
        title="Waits and times of runs"
        at={speeds.at}
        said={sampleText(speeds.sample)}
        columns={speedColumns}
        rows={speeds.rows}
        idOf={({ class: kind }) => kind}
        empty="No run has ended."
      />
      <Panel
        title="Failures by code"
        at={failures.at}
        said={sampleText(failures.sample)}
        columns={failureColumns}
        rows={failures.rows}
        idOf={({ code }) => code}
        empty="No run has failed."
      />
      <Panel
        title="Slow nodes"
        at={slowNodes.at}
        said={sampleText(slowNodes.sample)}
        columns={nodeColumns}
        rows={slowNodes.rows}
        idOf={({ tenantID, workflowID, nodeID }) => `${tenantID} ${workflowID} ${nodeID}`}
        empty="No node has ended."
      />
      <Queues paused={pausedQueues} />
    </>
  );
}

/** The command is that of the guide of backups. */
function DeferredWork({ restore: { snapshotAt, phase } }: { restore: Schemas['FleetRestore'] }) {
  if (phase === 'loading')
    return (
      <Restored at={snapshotAt}>
        The restore has not ended, and workers wait. Run the same <code className="nowrap">gantry restore</code> again.
      </Restored>
    );
  return (
    <Restored at={snapshotAt}>
      Workers take no work, and nothing acts outside. Make sure that the old deployment does not run any more, then run{' '}
      <code className="nowrap">gantry resume</code> on the server; in the image it is{' '}
      <code className="nowrap">node ops/backup.ts resume</code>.
    </Restored>
  );
}

/** All of them: work of some kinds is told by no rows, and questions to workers are among it. */
function Queues({ paused }: { paused: readonly string[] }) {
  return (
    <Section title="Queues on the board" said="their jobs, with counts and errors">
      <ul className="panel queues">
        {board.queues.map((queue) => (
          <li key={queue}>
            <QueueLink queue={queue} />
            {paused.includes(queue) && <span className="note"> paused</span>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Found({ search }: { search: string }) {
  const read = useQuery(foundRead(search));
  const { data = [] } = read;
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} />;
  return (
    <div className="panel scroller">
      <Rows
        caption="Tenants that were found"
        columns={foundColumns}
        rows={data}
        idOf={({ tenantID }) => tenantID}
        empty="No tenant has this in its title."
      />
    </div>
  );
}

function sampleText({ runs, since }: Schemas['FleetSample']): string {
  if (!since) return 'no run has ended within the hour';
  return `of the ${countOf(runs, 'run')} that ended since ${new Date(since).toLocaleTimeString()}`;
}

type Named = Pick<Schemas['FleetTenant'], 'tenantID' | 'tenantTitle'>;

function TenantLink({ of: { tenantID, tenantTitle } }: { of: Named }) {
  return (
    <a className="link" href={`/fleet/tenants/${tenantID}`}>
      <bdi>{tenantTitle ?? tenantID}</bdi>
    </a>
  );
}

function limitText({ running, maxRuns }: Pick<Schemas['FleetTenant'], 'running' | 'maxRuns'>): string {
  return maxRuns === null ? running.toLocaleString() : `${running.toLocaleString()} of ${maxRuns.toLocaleString()}`;
}

const tenantColumns: readonly Column<Schemas['FleetTenant']>[] = [
  { head: 'Tenant', cell: (row) => <TenantLink of={row} /> },
  { head: 'Waiting', cell: ({ waiting, isCut }) => countText({ count: waiting, isCut }) },
  { head: 'Oldest', cell: ({ oldest }) => <Age at={oldest} /> },
  { head: 'Running', cell: limitText, isWide: true },
  { head: 'Intake', cell: ({ pausedAt }) => (pausedAt ? 'paused' : 'open'), isWide: true },
];

const foundColumns: readonly Column<Schemas['FleetFoundTenant']>[] = [
  { head: 'Tenant', cell: (row) => <TenantLink of={row} /> },
  { head: 'Running', cell: limitText },
];

const workerColumns: readonly Column<Schemas['FleetWorker']>[] = [
  { head: 'State', cell: ({ state }) => <WorkerState of={state} /> },
  { head: 'Runs', cell: ({ runs, slots }) => `${runs} of ${slots}` },
  { head: 'Version', cell: ({ version }) => version },
  { head: 'Up since', cell: ({ startedAt }) => <Ago at={startedAt} />, isWide: true },
  { head: 'Ended', cell: ({ endedAt }) => (endedAt ? <Ago at={endedAt} /> : '–'), isWide: true },
  { head: 'Worker', cell: ({ workerID }) => <code>{workerID}</code>, isWide: true },
];

const failureColumns: readonly Column<Schemas['FleetFailure']>[] = [
  { head: 'Code', cell: ({ code }) => <bdi>{code}</bdi> },
  { head: 'Runs', cell: ({ runs }) => runs.toLocaleString() },
  { head: 'Tenants', cell: ({ tenants }) => tenants.toLocaleString(), isWide: true },
  {
    head: 'Last of',
    cell: ({ lastTenantID: tenantID, lastTenantTitle: tenantTitle }) => <TenantLink of={{ tenantID, tenantTitle }} />,
  },
  { head: 'Last run', cell: ({ lastInstanceID }) => <code>{lastInstanceID}</code>, isWide: true },
  { head: 'At', cell: ({ lastAt }) => <Ago at={lastAt} />, isWide: true },
];

const speedColumns: readonly Column<Schemas['FleetSpeed']>[] = [
  { head: 'Class', cell: ({ class: kind }) => kind },
  { head: 'Runs', cell: ({ runs }) => runs.toLocaleString(), isWide: true },
  { head: 'Waited: median', cell: ({ waited }) => <Time ms={waited.p50} /> },
  { head: 'Waited: 95 %', cell: ({ waited }) => <Time ms={waited.p95} /> },
  { head: 'Waited: 99 %', cell: ({ waited }) => <Time ms={waited.p99} />, isWide: true },
  { head: 'Took: median', cell: ({ took }) => <Time ms={took.p50} />, isWide: true },
  { head: 'Took: 95 %', cell: ({ took }) => <Time ms={took.p95} />, isWide: true },
  { head: 'Took: 99 %', cell: ({ took }) => <Time ms={took.p99} />, isWide: true },
];

function Time({ ms }: { ms: number }) {
  return <span className="nowrap">{durationText(ms)}</span>;
}

const nodeColumns: readonly Column<Schemas['FleetSlowNode']>[] = [
  { head: 'Node', cell: ({ nodeID }) => <bdi>{nodeID}</bdi> },
  { head: 'Median', cell: ({ medianMs }) => <Time ms={medianMs} /> },
  { head: 'Slowest', cell: ({ slowestMs }) => <Time ms={slowestMs} />, isWide: true },
  { head: 'Times', cell: ({ times }) => times.toLocaleString(), isWide: true },
  {
    head: 'Workflow',
    cell: ({ workflowTitle, workflowID }) => <bdi>{workflowTitle ?? workflowID ?? '–'}</bdi>,
    isWide: true,
  },
  { head: 'Tenant', cell: (row) => <TenantLink of={row} /> },
];
