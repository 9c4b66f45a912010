import { Button, Group, Paper, SegmentedControl, Skeleton, Stack, Text } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useMemo } from 'react';
import { useLiveRun } from '../client/live-run.ts';
import { hasEnded } from '../client/live-runs.ts';
import { useMay } from '../client/may.ts';
import { versionRead } from '../client/reads.ts';
import { body, rest } from '../client/rest.ts';
import { nodesOf } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { kindsRead } from '../client/workflows.ts';
import { Deliveries } from '../run/deliveries.tsx';
import { type Graph as GraphOfRun, graphOf } from '../run/graph-of.ts';
import { MapItems } from '../run/map-items.tsx';
import { originOf } from '../run/origin.ts';
import { StepPanel } from '../run/step-panel.tsx';
import { Timeline } from '../run/timeline.tsx';
import type { RunView } from '../run/view.ts';
import { WhyWaiting } from '../run/why-waiting.tsx';
import { Icon } from '../ui/icon.tsx';
import { isObject } from '../ui/is-object.ts';
import { JSONView } from '../ui/json.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Status } from '../ui/status.tsx';
import { Ago, Duration } from '../ui/time.tsx';

const Graph = lazy(() => import('../run/graph.tsx').then(({ Graph: one }) => ({ default: one })));
const Rerun = lazy(() => import('../run/rerun.tsx').then(({ Rerun: one }) => ({ default: one })));

const from = '/shell/t/$tenantID/runs/$instanceID';

export function RunPage() {
  const ids = useParams({ from });
  const { run, error, isLost, refetch } = useLiveRun(ids);
  if (error)
    return (
      <>
        <PageTitle title="Run" />
        <Problem error={error} onRetry={() => void refetch()} />
      </>
    );
  if (!run)
    return (
      <>
        <PageTitle title="Run" />
        <Skeleton h={360} />
      </>
    );
  return (
    <>
      {isLost && !hasEnded(run) && (
        <Notice tone="wait" role="status">
          The connection is lost. The page reconnects by itself and then shows what it has missed.
        </Notice>
      )}
      <ShownRun tenantID={ids.tenantID} run={run} />
    </>
  );
}

function ShownRun({ tenantID, run }: { tenantID: string; run: Run }) {
  const { workflowID, versionID } = run;
  const view = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/runs/$instanceID' });
  const version = useQuery({
    ...versionRead({ tenantID, workflowID: workflowID ?? '', versionID }),
    enabled: workflowID !== null,
  });
  const hasKinds = useMay()('workflow.list') && version.data !== undefined;
  const { data: kinds } = useQuery({ ...kindsRead(tenantID), enabled: hasKinds });
  const nodes = useMemo(() => nodesOf(run.timeline), [run.timeline]);
  const graph = useMemo(() => version.data && graphOf(version.data, run.input), [version.data, run.input]);
  const set = (change: Partial<Record<keyof RunView, string | undefined>>) => {
    const next = Object.entries({ ...view, ...change }).filter(([, value]) => value !== undefined);
    void navigate({ search: Object.fromEntries(next), replace: true });
  };
  const select = (step: string) => set({ step, tab: undefined });
  const isNarrow = useMediaQuery('(max-width: 40em)', undefined, { getInitialValueInEffect: false });
  const hasReceiver = isObject(version.data?.workflowOptions.completionWebhook);
  const hasGraph = workflowID !== null && !version.error;
  const shows = hasGraph ? (view.view ?? (isNarrow ? 'timeline' : 'graph')) : 'timeline';
  return (
    <>
      <Head tenantID={tenantID} run={run} graph={graph} step={view.step} />
      <div className={splitOf(view)}>
        <Paper withBorder p="sm">
          <Group justify="space-between" mb="xs">
            <SegmentedControl
              size="xs"
              aria-label="View"
              value={shows}
              onChange={(value) => set({ view: value })}
              data={[
                { value: 'graph', label: 'Graph', disabled: !hasGraph },
                { value: 'timeline', label: 'Timeline' },
              ]}
            />
            <Text size="sm" c="dimmed">
              {run.versionNumber === null
                ? 'a graph that was not saved'
                : `version ${run.versionNumber}, the one that ran`}
            </Text>
          </Group>
          {version.error && <Problem error={version.error} />}
          {shows === 'graph' && graph && (
            <Suspense fallback={<Skeleton className="graph" />}>
              <Graph graph={graph} nodes={nodes} maps={run.maps} kinds={kinds} selected={view.step} onSelect={select} />
            </Suspense>
          )}
          {shows === 'timeline' && (
            <Timeline run={run} nodes={nodes} graph={graph} selected={view.step} onSelect={select} />
          )}
          {run.nextSeq !== null && (
            <Text size="sm" c="dimmed">
              The run has more events than are shown here.
            </Text>
          )}
        </Paper>
        <Paper withBorder p="sm">
          {view.step === undefined ? (
            <Result run={run}>{hasReceiver && hasEnded(run) && <Deliveries tenantID={tenantID} run={run} />}</Result>
          ) : (
            <StepPanel
              tenantID={tenantID}
              run={run}
              nodes={nodes}
              graph={graph}
              selected={view.step}
              tab={view.tab}
              onTab={(tab) => set({ tab })}
              onSelect={select}
              onClose={() => set({ step: undefined, tab: undefined })}
            >
              <MapItems tenantID={tenantID} run={run} graph={graph} step={view.step} />
            </StepPanel>
          )}
        </Paper>
      </div>
    </>
  );
}

/** An input beside its output takes more room than one of them. */
function splitOf({ step, tab }: RunView): string {
  return step !== undefined && tab === 'input' ? 'split even' : 'split';
}

interface HeadProps {
  tenantID: string;
  run: Run;
  graph: GraphOfRun | undefined;
  step: string | undefined;
}

function Head({ tenantID, run, graph, step }: HeadProps) {
  const { instanceID, workflowTitle, status, createdAt, startedAt, completedAt, rerunOf, parentInstanceID } = run;
  const [isRerunning, rerunning] = useDisclosure(false);
  const stop = useMutation({
    mutationFn: () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/stop';
      return body(rest.DELETE(path, { params: { path: { tenantID, instanceID } } }));
    },
  });
  return (
    <Stack gap="sm" mb="md">
      <PageTitle
        title={workflowTitle ?? 'Unsaved workflow'}
        beside={
          <span role="status">
            <Status of={status} />
          </span>
        }
      >
        <May permission="workflow.execute" on={`workflow:${run.workflowID ?? '*'}`}>
          {!hasEnded(run) && (
            <Button
              variant="default"
              leftSection={<Icon name="ban" />}
              loading={stop.isPending}
              onClick={() => stop.mutate()}
            >
              Cancel
            </Button>
          )}
          {run.workflowID && run.mapID === null && (
            <Button variant="default" leftSection={<Icon name="again" />} onClick={rerunning.open}>
              Re-run
            </Button>
          )}
        </May>
      </PageTitle>
      {stop.error && <Problem error={stop.error} />}
      <WhyWaiting tenantID={tenantID} run={run} />
      {run.error && (
        <Notice tone="bad" title={run.error.code}>
          {run.error.message}
          {run.error.nodeID && ` (step ${run.error.nodeID}, attempt ${run.error.attempt})`}
        </Notice>
      )}
      <dl className="facts">
        <Detail name="Run">
          <code>{instanceID}</code>
        </Detail>
        <Detail name="Accepted">
          <Ago at={createdAt} />
        </Detail>
        <Detail name="In the queue">
          <Duration from={createdAt} to={startedAt ?? completedAt} />
        </Detail>
        <Detail name="Duration">
          <Duration from={startedAt} to={completedAt} />
        </Detail>
        <Detail name="Origin">{originOf(run)}</Detail>
        {run.tags.length > 0 && <Detail name="Tags">{run.tags.join(', ')}</Detail>}
        {rerunOf && (
          <Detail name="Repeats">
            <RunLink tenantID={tenantID} instanceID={rerunOf} />
          </Detail>
        )}
        {parentInstanceID && (
          <Detail name="Started by">
            <RunLink tenantID={tenantID} instanceID={parentInstanceID} />
          </Detail>
        )}
      </dl>
      {isRerunning && (
        <Suspense>
          <Rerun tenantID={tenantID} run={run} graph={graph} step={step} onClose={rerunning.close} />
        </Suspense>
      )}
    </Stack>
  );
}

function Detail({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function RunLink({ tenantID, instanceID }: { tenantID: string; instanceID: string }) {
  return (
    <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
      <code>{instanceID.slice(-8)}</code>
    </Link>
  );
}

function Result({ run, children }: { run: Run; children: ReactNode }) {
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        Choose a step to see its result and its log.
      </Text>
      <Text component="h2" fw={600} size="sm">
        Input of the run
      </Text>
      <JSONView value={run.input} label="Input of the run" />
      <Text component="h2" fw={600} size="sm">
        Output of the run
      </Text>
      {run.status === 'COMPLETED' ? (
        <JSONView value={run.output} label="Output of the run" />
      ) : (
        <Text size="sm">{hasEnded(run) ? 'It has none.' : 'Not yet.'}</Text>
      )}
      {children}
    </Stack>
  );
}
