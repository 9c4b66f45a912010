import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { Button, Group, SegmentedControl, Skeleton, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useMemo } from 'react';
import { useLiveRun } from '../client/live-run.ts';
import { hasEnded } from '../client/live-runs.ts';
import { useMay } from '../client/may.ts';
import { versionRead } from '../client/reads.ts';
import { nodesOf } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { kindsRead } from '../client/workflows.ts';
import { Workspace, WorkspaceBar } from '../graph/workspace.tsx';
import { hasStepError } from '../run/failed-step.ts';
import { RunFailure } from '../run/failure.tsx';
import { graphOf } from '../run/graph-of.ts';
import { RunHead } from '../run/head.tsx';
import { useOpenRun } from '../run/open-run.ts';
import { RunPanel } from '../run/panel.tsx';
import { Timeline } from '../run/timeline.tsx';
import { usePanel } from '../run/use-panel.ts';
import type { RunView } from '../run/view.ts';
import { isObject } from '../ui/is-object.ts';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

const Graph = lazy(() => import('../run/graph.tsx').then(({ Graph: one }) => ({ default: one })));

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
    <div className="studio-page">
      {isLost && !hasEnded(run) && (
        <Notice tone="wait" role="status">
          The connection is lost. The page reconnects by itself and then shows what it has missed.
        </Notice>
      )}
      <ShownRun key={run.instanceID} tenantID={ids.tenantID} run={run} />
    </div>
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
  useOpenRun(tenantID, run, version.data);
  const hasKinds = useMay()('workflow.list') && version.data !== undefined;
  const { data: kinds } = useQuery({ ...kindsRead(tenantID), enabled: hasKinds });
  const nodes = useMemo(() => nodesOf(run.timeline, run.status), [run.timeline, run.status]);
  const graph = useMemo(() => version.data && graphOf(version.data, run.input), [version.data, run.input]);
  const set = (change: Partial<Record<keyof RunView, string | undefined>>) => {
    const next = Object.entries({ ...view, ...change }).filter(([, value]) => value !== undefined);
    void navigate({ search: Object.fromEntries(next), replace: true });
  };
  const select = (step: string) => set({ step, tab: undefined });
  const panel = usePanel({ run, step: view.step, onClear: () => set({ step: undefined, tab: undefined }) });
  const isNarrow = useMediaQuery('(max-width: 40em)', undefined, { getInitialValueInEffect: false });
  const hasReceiver = isObject(version.data?.workflowOptions.completionWebhook);
  const hasGraph = workflowID !== null && !version.error;
  const shows = hasGraph ? (view.view ?? (isNarrow ? 'timeline' : 'graph')) : 'timeline';
  const isFailureShown = isAt(panel.step, run) && hasStepError(run, nodes) && !isNarrow;
  return (
    <>
      <RunHead tenantID={tenantID} run={run} graph={graph} step={panel.step}>
        {!isFailureShown && <RunFailure tenantID={tenantID} run={run} nodes={nodes} graph={graph} onSelect={select} />}
      </RunHead>
      <Workspace>
        <WorkspaceBar>
          <Group gap="sm">
            <Views shown={shows} hasGraph={hasGraph} onChange={(value) => set({ view: value })} />
            <Version tenantID={tenantID} run={run} />
          </Group>
          <Button
            size="xs"
            variant={panel.isResult ? 'light' : 'default'}
            aria-pressed={panel.isResult}
            onClick={panel.toggleResult}
          >
            Input and output
          </Button>
        </WorkspaceBar>
        {version.error && <Problem error={version.error} />}
        {shows === 'graph' && !graph && <Skeleton className="graph" />}
        {shows === 'graph' && graph && (
          <Suspense fallback={<Skeleton className="graph" />}>
            <Graph {...{ tenantID, graph, nodes, kinds }} maps={run.maps} selected={panel.step} onSelect={select} />
          </Suspense>
        )}
        {shows === 'timeline' && (
          <div className="studio-table">
            <Timeline run={run} nodes={nodes} graph={graph} selected={panel.step} onSelect={select} />
            {run.nextSeq !== null && (
              <Text size="sm" c="dimmed">
                The run has more events than are shown here.
              </Text>
            )}
          </div>
        )}
        <RunPanel
          tenantID={tenantID}
          run={run}
          nodes={nodes}
          graph={graph}
          panel={panel}
          tab={view.tab}
          hasReceiver={hasReceiver}
          onTab={(tab) => set({ step: panel.step, tab })}
          onSelect={select}
        />
      </Workspace>
    </>
  );
}

/** Whether the panel shows the step with which the run failed. */
function isAt(step: string | undefined, { error }: Run): boolean {
  return step !== undefined && step.split('@')[0] === error?.nodeID;
}

interface ViewsProps {
  shown: NonNullable<RunView['view']>;
  hasGraph: boolean;
  onChange: (view: string) => void;
}

function Views({ shown, hasGraph, onChange }: ViewsProps) {
  return (
    <SegmentedControl
      size="xs"
      aria-label="View"
      value={shown}
      onChange={onChange}
      data={[
        { value: 'graph', label: 'Graph', disabled: !hasGraph },
        { value: 'timeline', label: 'Timeline' },
      ]}
    />
  );
}

/** The version that ran, with the way to it in the editor. */
function Version({ tenantID, run }: { tenantID: string; run: Run }) {
  const { workflowID, versionID, versionNumber } = run;
  const mayRead = useMay(`workflow:${workflowID ?? '*'}`)('workflow.read');
  const words = versionNumber === null ? 'A graph that was not saved' : `Version ${versionNumber}, the one that ran`;
  return (
    <Text size="sm" c="dimmed">
      {workflowID === null || versionNumber === null || !mayRead ? (
        words
      ) : (
        <Link
          className="link"
          to="/t/$tenantID/workflows/$workflowID"
          params={{ tenantID, workflowID }}
          search={{ version: versionID }}
        >
          {words}
        </Link>
      )}
    </Text>
  );
}
