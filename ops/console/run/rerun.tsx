import '@mantine/core/styles/Radio.css';
import { Button, Group, Modal, Radio, Select, Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { versionRead } from '../client/reads.ts';
import { body, rest } from '../client/rest.ts';
import { nodesOf } from '../client/run-steps.ts';
import type { Run, Schemas } from '../client/types.ts';
import { versionsRead, workflowRead } from '../client/workflows.ts';
import { countOf } from '../ui/count.ts';
import { faultsIn } from '../ui/faults.ts';
import { isObject } from '../ui/is-object.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { doneAgain } from './done-again.ts';
import { type Graph, titleOf } from './graph-of.ts';
import { type RunInput, RunInputs } from './run-inputs.tsx';

type Start = 'start' | 'failed' | 'node';
type Asked = Schemas['WorkflowRerun'];

const RERUN = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/rerun';
const TYPING_MS = 300;

interface Props {
  tenantID: string;
  run: Run;
  /** The graph of the version that ran. */
  graph: Graph | undefined;
  /** The step that is shown beside. */
  step: string | undefined;
  onClose: () => void;
}

/** Repeats a run: from where, with which version and which input; says before what that does. */
export function Rerun({ tenantID, run, graph, step, onClose }: Props) {
  const done = nodesOf(run.timeline, run.status)
    .filter(({ shown }) => shown.frame.length === 0)
    .map(({ nodeID }) => ({ value: nodeID, label: titleOf(graph, nodeID) }));
  const chosen = done.find(({ value }) => value === step)?.value ?? null;
  const [start, setStart] = useState<Start>(chosen ? 'node' : run.status === 'FAILED' ? 'failed' : 'start');
  const [nodeID, setNodeID] = useState<string | null>(chosen);
  const published = usePublished(tenantID, run);
  const [chosenVersion, setVersion] = useState<string>();
  // Who mends a workflow and comes back would otherwise repeat the failure.
  const version = chosenVersion ?? (run.status === 'FAILED' && published.isLater ? 'published' : 'original');
  const [input, setInput] = useState(run.input as RunInput | undefined);
  const declared = useDeclaredInputs({ tenantID, run, version, published });
  const asked = requestOf({ start, nodeID, version, args: argsOf(input, run.input) });
  const navigate = useNavigate();
  const params = { path: { tenantID, instanceID: run.instanceID } };
  const rerun = useMutation({
    mutationFn: (request: Asked) => body(rest.POST(RERUN, { params, body: request })),
    onSuccess: async ({ instanceID }) => {
      onClose();
      await navigate({ to: '/t/$tenantID/runs/$instanceID', params: { tenantID, instanceID }, search: {} });
    },
  });
  const preview = usePreview({ tenantID, instanceID: run.instanceID, asked });
  const refused = faultsIn('args', rerun.error ?? preview.error);
  const faults = argsOf(input, run.input) === null ? new Map([['', 'Expected a JSON object']]) : refused;
  const error = refused.size > 0 ? null : (rerun.error ?? preview.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (asked) rerun.mutate(asked);
  };
  return (
    <Modal opened onClose={onClose} title="Re-run" size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <Radio.Group label="From" value={start} onChange={(value) => setStart(value as Start)}>
            <Stack gap="xs" mt={4}>
              <Radio value="start" label="The start: every step is executed again" />
              <Radio value="failed" label="Where it failed or was interrupted: results before that are taken over" />
              <Radio value="node" label="A step: it is executed with all behind it, results before it are taken over" />
            </Stack>
          </Radio.Group>
          {start === 'node' && (
            <Select label="Step" searchable required data={done} value={nodeID} onChange={setNodeID} />
          )}
          <VersionChoice {...{ tenantID, run, published }} value={version} onChange={setVersion} />
          {declared.isRead ? (
            <RunInputs definitions={declared.inputs} value={input} onChange={setInput} faults={faults} />
          ) : (
            <Skeleton h={80} />
          )}
          {asked && !preview.error && <Preview run={run} plan={preview.data} graph={graph} />}
          {error && <Problem error={error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={rerun.isPending} disabled={!asked}>
              Re-run
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface Choice {
  start: Start;
  nodeID: string | null;
  version: string;
  args: NonNullable<Asked>['args'] | null | undefined;
}

/** Undefined while something is missing. */
function requestOf({ start, nodeID, version, args }: Choice): Asked | undefined {
  if (args === null) return undefined;
  const more = { version, ...(args && { args }) };
  if (start !== 'node') return { from: start, ...more };
  return nodeID === null ? undefined : { from: { nodeID }, ...more };
}

/** Undefined: the input is that of the run. Null: it is no object. */
function argsOf(input: unknown, before: unknown): NonNullable<Asked>['args'] | null | undefined {
  if (JSON.stringify(input) === JSON.stringify(before)) return undefined;
  const next = input ?? {};
  return isObject(next) ? (next as NonNullable<Asked>['args']) : null;
}

/** The inputs that the chosen version declares, if they can be read. */
function useDeclaredInputs({ tenantID, run, version, published }: DeclaredProps) {
  const isPublished = version === 'published';
  const versionID = isPublished ? published.versionID : version === 'original' ? run.versionID : version;
  const { data, error } = useQuery({
    ...versionRead({ tenantID, workflowID: run.workflowID ?? '', versionID: versionID ?? '' }),
    enabled: versionID !== undefined,
  });
  const isNone = isPublished && published.isRead && versionID === undefined;
  return {
    isRead: data !== undefined || error !== null || isNone,
    inputs: (data?.workflowOptions as { inputDefinitions?: unknown } | undefined)?.inputDefinitions,
  };
}

interface DeclaredProps {
  tenantID: string;
  run: Run;
  version: string;
  published: Published;
}

type Published = ReturnType<typeof usePublished>;

/** The published version of the run's workflow, which may be older than all versions that a list shows, and whether it is later than that of the run. */
function usePublished(tenantID: string, { workflowID, versionNumber }: Run) {
  const ids = { tenantID, workflowID: workflowID ?? '' };
  const workflow = useQuery({ ...workflowRead(ids), enabled: workflowID !== null });
  const versionID = workflow.data?.publishedVersionID ?? undefined;
  const version = useQuery({
    ...versionRead({ ...ids, versionID: versionID ?? '' }),
    enabled: versionID !== undefined,
  });
  const number = version.data?.versionNumber ?? undefined;
  const isLater = number !== undefined && versionNumber != null && number > versionNumber;
  return { isRead: !workflow.isPending, versionID, number, isLater };
}

interface VersionProps {
  tenantID: string;
  run: Run;
  published: Published;
  value: string;
  onChange: (version: string) => void;
}

function VersionChoice({ tenantID, run, published, value, onChange }: VersionProps) {
  const { workflowID, versionID, versionNumber } = run;
  const { number, isLater } = published;
  const read = useInfiniteQuery({
    ...versionsRead({ tenantID, workflowID: workflowID ?? '' }),
    enabled: workflowID !== null,
  });
  const others = (read.data?.pages ?? [])
    .flatMap(({ versions }) => versions)
    .filter((one) => one.versionID !== versionID && !one.isPublished)
    .map((one) => ({
      value: one.versionID,
      label: `Version ${one.versionNumber}${one.label ? `: ${one.label}` : ''}`,
    }));
  const data = [
    { value: 'original', label: `That of the run (${versionNumber ?? 'not saved'})` },
    { value: 'published', label: number === undefined ? 'The published one' : `The published one (${number})` },
    ...others,
  ];
  return (
    <div>
      <Select
        label="Version"
        description={isLater && `Version ${number} was published after the one that ran`}
        searchable
        allowDeselect={false}
        data={data}
        value={value}
        onChange={(chosen) => chosen && onChange(chosen)}
      />
      {read.hasNextPage && (
        <Button
          size="compact-xs"
          variant="default"
          mt={4}
          loading={read.isFetchingNextPage}
          onClick={() => void read.fetchNextPage()}
        >
          Offer older versions too
        </Button>
      )}
    </div>
  );
}

/** The steps that the re-run reuses and those that it executes, as the API says for this choice. */
function usePreview({
  tenantID,
  instanceID,
  asked,
}: {
  tenantID: string;
  instanceID: string;
  asked: Asked | undefined;
}) {
  const [settled] = useDebouncedValue(JSON.stringify(asked), TYPING_MS);
  return useQuery({
    queryKey: ['rerun-preview', tenantID, instanceID, settled],
    queryFn: () => {
      const params = { path: { tenantID, instanceID } };
      return body(rest.POST(`${RERUN}/preview`, { params, body: JSON.parse(settled ?? '{}') as Asked }));
    },
    enabled: settled !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
  });
}

interface PreviewProps {
  run: Run;
  plan: Schemas['WorkflowRerunPreview'] | undefined;
  graph: Graph | undefined;
}

function Preview({ run, plan, graph }: PreviewProps) {
  if (!plan) return <Text size="sm">Looking at what it would do …</Text>;
  const { reused, changed, executed } = plan;
  const others = executed.filter((nodeID) => !changed.includes(nodeID));
  const { repeating, items, answered } = doneAgain(run, executed, graph);
  return (
    <section aria-label="What it will do">
      <Text size="sm" fw={600}>
        What it will do
      </Text>
      <Steps title="Takes over the results of" of={reused} graph={graph} />
      <Steps title="Executes, if its branches lead there:" of={others} graph={graph} />
      <Steps title="Executes, since they or steps before them differ in this version:" of={changed} graph={graph} />
      {repeating.length > 0 && (
        <Notice tone="wait" title={`${countOf(items, 'item')} will be done again`}>
          <Steps title="Begins again with the first item, also where items were done:" of={repeating} graph={graph} />
        </Notice>
      )}
      <Steps title="Asks again, although it was answered:" of={answered} graph={graph} />
    </section>
  );
}

function Steps({ title, of, graph }: { title: string; of: readonly string[]; graph: Graph | undefined }) {
  if (of.length === 0) return null;
  return (
    <Text size="sm" className="breaks">
      {title}{' '}
      <bdi>
        {of
          .slice(0, MAX_NAMED)
          .map((nodeID) => titleOf(graph, nodeID))
          .join(', ')}
      </bdi>
      {of.length > MAX_NAMED && ` and ${countOf(of.length - MAX_NAMED, 'other')}`}
    </Text>
  );
}

const MAX_NAMED = 30;
