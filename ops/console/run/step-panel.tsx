import './steps.css';
import '@mantine/core/styles/Tabs.css';
import { Button, CloseButton, Group, Select, Stack, Tabs, Text } from '@mantine/core';
import { type UseMutationResult, useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { readWholeEvent } from '../client/live-run.ts';
import { type NodeSteps, type Step, spansOf } from '../client/run-steps.ts';
import { logsRead } from '../client/step-reads.ts';
import type { Run, TimelineEvent } from '../client/types.ts';
import { wordsOf } from '../graph/kinds.ts';
import { JSONView } from '../ui/json.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { Status, wordOf } from '../ui/status.tsx';
import { Clock, durationText } from '../ui/time.tsx';
import { ExplainFailure } from './explain.tsx';
import { failedStepOf } from './failed-step.ts';
import { StepError } from './failure.tsx';
import { type Graph, type GraphNode, titleOf } from './graph-of.ts';
import { RerunButton } from './rerun-button.tsx';
import { StepInput } from './step-input.tsx';
import { StepDuration } from './timeline.tsx';
import type { StepTab } from './view.ts';

interface Props {
  tenantID: string;
  run: Run;
  nodes: readonly NodeSteps[];
  graph: Graph | undefined;
  /** The key of a step. */
  selected: string;
  tab: StepTab | undefined;
  onTab: (tab: StepTab | undefined) => void;
  onSelect: (step: string) => void;
  onClose: () => void;
  /** Further content about the step. */
  children?: ReactNode;
}

/** Input, output and log of one step of a run. */
export function StepPanel({ tenantID, run, nodes, graph, selected, tab, onTab, onSelect, onClose, children }: Props) {
  const nodeID = selected.split('@')[0] ?? selected;
  const node = nodes.find((one) => one.nodeID === nodeID);
  const step = node?.steps.find(({ key }) => key === selected) ?? node?.shown;
  const definition = graph?.nodes.find(({ id }) => id === nodeID);
  const output = step && <Output key={`${step.key} ${step.last.seq}`} tenantID={tenantID} run={run} step={step} />;
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap" align="start">
        <div>
          <Text component="h2" fw={600}>
            <bdi>{titleOf(graph, nodeID)}</bdi>
          </Text>
          <Text size="xs" c="dimmed">
            {definition && wordsOf(definition.kind, undefined).word} <code>{nodeID}</code>
            {run.workflowID !== null && (
              <ToEditor {...{ tenantID, workflowID: run.workflowID, step: nodeID, run: run.instanceID }} />
            )}
          </Text>
        </div>
        <CloseButton aria-label="Close the step" onClick={onClose} />
      </Group>
      {node && node.steps.length > 1 && <Iterations node={node} selected={step?.key} onSelect={onSelect} />}
      {step ? (
        <>
          <Group gap="md">
            <Status of={step.status} />
            <StepDuration step={step} />
            {step.last.exit && <Text size="sm">left by “{step.last.exit}”</Text>}
          </Group>
          <Remarks tenantID={tenantID} last={step.last} />
        </>
      ) : (
        <Text size="sm">The run has not reached this step.</Text>
      )}
      {children}
      <Tabs
        value={tab ?? (step?.last.error ? 'error' : 'output')}
        onChange={(value) => onTab(value === 'output' ? undefined : (value as StepTab))}
        keepMounted={false}
      >
        <Tabs.List mb="sm" className="step-tabs">
          {step?.last.error && <Tabs.Tab value="error">Error</Tabs.Tab>}
          <Tabs.Tab value="input">Input</Tabs.Tab>
          <Tabs.Tab value="output">Output</Tabs.Tab>
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
          <Tabs.Tab value="logs">Log</Tabs.Tab>
          <Tabs.Tab value="attempts">Attempts</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="error">
          <ErrorOf {...{ tenantID, run, graph, step }} />
        </Tabs.Panel>
        <Tabs.Panel value="output">{output}</Tabs.Panel>
        <Tabs.Panel value="input" className="two-sides">
          {step && (
            <div>
              <StepInput key={step.key} tenantID={tenantID} run={run} graph={graph} step={step} onSelect={onSelect} />
              {output}
            </div>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <Settings definition={definition} />
        </Tabs.Panel>
        <Tabs.Panel value="logs">
          <Log tenantID={tenantID} run={run} nodeID={nodeID} step={step} />
        </Tabs.Panel>
        <Tabs.Panel value="attempts">{step && <Attempts step={step} />}</Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

interface ErrorProps {
  tenantID: string;
  run: Run;
  graph: Graph | undefined;
  step: Step | undefined;
}

/** Why the step has failed, and the way to try it again. */
function ErrorOf({ tenantID, run, graph, step }: ErrorProps) {
  if (!step?.last.error) return null;
  return (
    <Stack align="start">
      <StepError tenantID={tenantID} error={step.last.error} title={titleOf(graph, step.nodeID)} />
      {run.status === 'FAILED' && (
        <RerunButton
          {...{ tenantID, run, graph, step: step.nodeID }}
          size="xs"
          label={step.frame.length > 0 ? 'Re-run where it failed' : 'Re-run from this step'}
        />
      )}
      {step.key === failedStepOf(run) && <ExplainFailure />}
    </Stack>
  );
}

interface ToEditorProps {
  tenantID: string;
  workflowID: string;
  step: string;
  run: string;
}

/** The way to the step in the latest version of its workflow. */
function ToEditor({ tenantID, workflowID, step, run }: ToEditorProps) {
  return (
    <May permission="workflow.update" on={`workflow:${workflowID}`}>
      {' · '}
      <Link
        className="link"
        to="/t/$tenantID/workflows/$workflowID"
        params={{ tenantID, workflowID }}
        search={{ step, run }}
      >
        Edit this step
      </Link>
    </May>
  );
}

/** So many can be chosen from; the others by typing their number. */
const MAX_CHOICES = 100;

export function Iterations({
  node: { steps, failed },
  selected,
  onSelect,
}: {
  node: NodeSteps;
  selected: string | undefined;
  onSelect: (step: string) => void;
}) {
  const data = useMemo(() => {
    // Failed ones first.
    const sorted = [...steps].sort((one, other) => rank(one) - rank(other));
    return sorted.map((step) => ({ value: step.key, label: `${pathOf(step)} · ${wordOf(step.status)}` }));
  }, [steps]);
  return (
    <Select
      label={`Iteration (${steps.length.toLocaleString()}, ${failed.toLocaleString()} failed)`}
      searchable
      limit={MAX_CHOICES}
      allowDeselect={false}
      data={data}
      value={selected ?? null}
      onChange={(key) => key && onSelect(key)}
    />
  );
}

function rank({ status }: Step): number {
  if (status === 'FAILED') return 0;
  return status === 'RUNNING' ? 1 : 2;
}

/** People count from 1, and expressions from 0. */
function pathOf({ frame }: Step): string {
  const index = frame.map(({ iteration }) => iteration);
  if (index.length === 0) return 'once';
  return `Item ${index.map((one) => one + 1).join('.')} (index ${index.join('.')})`;
}

export function Remarks({ tenantID, last }: { tenantID: string; last: TimelineEvent }) {
  const { isPinned, refusedWrite, reusedFrom, child } = last;
  const remarks: ReactNode[] = [
    isPinned && 'The output was given with the test; the step was not executed.',
    refusedWrite !== undefined && `A dry run: this write was not made. ${refusedWrite}`,
    reusedFrom && (
      <>
        The result was taken over from <ToRun tenantID={tenantID} instanceID={reusedFrom} name="the run before" />.
      </>
    ),
    child && (
      <>
        It waits for <ToRun tenantID={tenantID} instanceID={child.instanceID} name={child.workflowTitle ?? 'a run'} />,
        which is {wordOf(child.status).toLowerCase()}.
      </>
    ),
  ].filter(Boolean);
  if (remarks.length === 0) return null;
  return (
    <Notice tone="idle">
      {remarks.map((remark, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the remarks have no state
        <Text key={index} size="sm">
          {remark}
        </Text>
      ))}
    </Notice>
  );
}

function ToRun({ tenantID, instanceID, name }: { tenantID: string; instanceID: string; name: string }) {
  return (
    <Link className="link" to="/t/$tenantID/runs/$instanceID" params={{ tenantID, instanceID }} search={{}}>
      {name}
    </Link>
  );
}

export function Output({ tenantID, run, step: { last } }: { tenantID: string; run: Run; step: Step }) {
  const { instanceID } = run;
  const load = useMutation({ mutationFn: () => readWholeEvent({ tenantID, instanceID }, last) });
  const whole = last.outputOmitted ? load.data : last.output;
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        What the step gave.
      </Text>
      {whole === undefined && last.outputOmitted ? (
        <LargeOutput last={last} load={load} />
      ) : (
        <JSONView value={whole} label="Output of the step" />
      )}
    </Stack>
  );
}

function LargeOutput({
  last,
  load,
}: {
  last: TimelineEvent;
  load: Pick<UseMutationResult<unknown, Error, void>, 'mutate' | 'isPending' | 'error'>;
}) {
  return (
    <Stack gap="xs" align="start">
      <Text size="sm">
        The output is large
        {last.outputLength !== undefined && ` (${last.outputLength.toLocaleString()} characters)`}, so it is not loaded
        with the page.
      </Text>
      <Button size="xs" variant="default" loading={load.isPending} onClick={() => load.mutate()}>
        Load it
      </Button>
      {load.error && <Problem error={load.error} />}
      {last.outputPreview !== undefined && <JSONView value={last.outputPreview} label="Beginning of the output" />}
    </Stack>
  );
}

function Settings({ definition }: { definition: GraphNode | undefined }) {
  if (!definition) return <Text size="sm">The graph is not known.</Text>;
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        As the version that ran has them; templates stand as they were written.
      </Text>
      <JSONView value={definition.data} label="Settings of the step" />
    </Stack>
  );
}

function Log({ tenantID, run, nodeID, step }: { tenantID: string; run: Run; nodeID: string; step: Step | undefined }) {
  const ids = { tenantID, instanceID: run.instanceID };
  const log = useInfiniteQuery(logsRead(ids, nodeID, step?.last.seq ?? 0));
  const error = errorInPlaceOf(log);
  if (error) return <Problem error={error} onRetry={() => void log.refetch()} />;
  const lines = log.data?.pages.flatMap((page) => page.lines) ?? [];
  const path = step && pathOf(step);
  const own = lines.filter((line) => path === undefined || pathOf({ ...step, frame: line.frame } as Step) === path);
  if (own.length === 0) return <Text size="sm">{log.isPending ? 'Reading …' : 'The step has written nothing.'}</Text>;
  return (
    <>
      <ul className="log" aria-label="Log of the step">
        {own.map((line) => (
          <li key={`${line.seq} ${line.at} ${line.message}`} data-level={line.level}>
            <Clock at={line.at} /> {line.level} <bdi>{line.message}</bdi>
          </li>
        ))}
      </ul>
      {log.hasNextPage && (
        <Button size="xs" variant="default" mt="xs" onClick={() => void log.fetchNextPage()}>
          More
        </Button>
      )}
    </>
  );
}

function Attempts({ step }: { step: Step }) {
  const spans = spansOf(step, Date.now());
  return (
    <table className="list">
      <caption className="unseen">Attempts and waits of the step</caption>
      <thead>
        <tr>
          <th scope="col">Attempt</th>
          <th scope="col">What</th>
          <th scope="col">Began</th>
          <th scope="col">Took</th>
        </tr>
      </thead>
      <tbody>
        {spans.map(({ kind, from, to, attempt }) => (
          <tr key={`${from} ${kind}`}>
            <td>{attempt}</td>
            <td>{kind === 'queue' ? 'In the queue' : <Status of={kind} />}</td>
            <td className="nowrap">
              <Clock at={from} />
            </td>
            <td className="nowrap">{durationText(to - from)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
