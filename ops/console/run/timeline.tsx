import './steps.css';
import { Text } from '@mantine/core';
import { useMemo } from 'react';
import { hasEnded } from '../client/live-runs.ts';
import { type NodeSteps, queueSpan, type Span, type Step, spansOf } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { Status, wordOf } from '../ui/status.tsx';
import { Duration, durationText } from '../ui/time.tsx';
import { type Graph, titleOf } from './graph-of.ts';
import { type Scale, scaleOf } from './scale.ts';

/** The steps in the order of their starts, with their times. It says in words what the graph draws. */
export function Timeline({
  run,
  nodes,
  graph,
  selected,
  onSelect,
}: {
  run: Run;
  nodes: readonly NodeSteps[];
  graph: Graph | undefined;
  selected: string | undefined;
  onSelect: (step: string) => void;
}) {
  const { queue, rows, scale } = useMemo(() => drawn(run, nodes), [run, nodes]);
  const selectedID = selected?.split('@')[0];
  return (
    <div className="scroller">
      <table className="list">
        <caption className="unseen">Steps of the run, in the order in which they began</caption>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Status</th>
            <th scope="col">Duration</th>
            <th scope="col" className="wide">
              When
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>In the queue</td>
            <td />
            <td className="nowrap">{durationText(queue.to - queue.from)}</td>
            <td className="wide">
              <Bars spans={[queue]} scale={scale} />
            </td>
          </tr>
          {rows.map(({ node, spans }) => (
            <tr key={node.nodeID} data-selected={node.nodeID === selectedID}>
              <td>
                <button
                  type="button"
                  className="plain link"
                  data-step={node.nodeID}
                  onClick={() => onSelect(node.shown.key)}
                >
                  <span className="clip step-name">{titleOf(graph, node.nodeID)}</span>
                </button>
              </td>
              <td>
                <Status of={node.shown.status} />
                <Counts node={node} />
              </td>
              <td>
                <StepDuration step={node.shown} />
              </td>
              <td className="wide">
                <Bars spans={spans} scale={scale} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {scale.cuts.length > 0 && (
        <Text size="xs" c="dimmed" p="xs">
          The dotted lines stand for {scale.cuts.map(({ ms }) => durationText(ms)).join(' and ')} in which the run only
          waited.
        </Text>
      )}
    </div>
  );
}

/** A loop has so many bars that more would be one. */
const MAX_BARS = 200;

function drawn(run: Run, nodes: readonly NodeSteps[]) {
  // A run that goes on is drawn up to now, and again with its next event.
  const now = hasEnded(run) ? Date.parse(run.completedAt ?? run.createdAt) : Date.now();
  const queue = queueSpan(run, now);
  const rows = nodes.map((node) => ({
    node,
    spans: node.steps.slice(-MAX_BARS).flatMap((step) => spansOf(step, now)),
  }));
  return { queue, rows, scale: scaleOf([queue, ...rows.flatMap(({ spans }) => spans)]) };
}

function Counts({ node: { steps, failed, shown } }: { node: NodeSteps }) {
  const parts = [
    ...(steps.length > 1 ? [`${steps.length.toLocaleString()} iterations`] : []),
    ...(failed > 0 && steps.length > 1 ? [`${failed.toLocaleString()} failed`] : []),
    ...(shown.last.attempt > 1 ? [`attempt ${shown.last.attempt}`] : []),
    ...(shown.last.reusedFrom ? ['reused'] : []),
  ];
  if (parts.length === 0) return null;
  return (
    <Text size="xs" c="dimmed">
      {parts.join(', ')}
    </Text>
  );
}

export function StepDuration({ step: { events, status, last } }: { step: Step }) {
  const isOver = status !== 'RUNNING' && status !== 'SUSPENDED';
  if (isOver && events.length === 1) return <span className="nowrap">–</span>;
  return <Duration from={events[0]?.at} to={isOver ? last.at : null} />;
}

function Bars({ spans, scale }: { spans: readonly Span[]; scale: Scale }) {
  return (
    <div className="bars" aria-hidden="true">
      {scale.cuts.map(({ position }) => (
        <span key={position} className="cut" style={{ left: `${position * 100}%` }} />
      ))}
      {spans.map((span) => (
        <Bar key={`${span.kind} ${span.from} ${span.attempt}`} span={span} scale={scale} />
      ))}
    </div>
  );
}

function Bar({ span: { kind, from, to }, scale }: { span: Span; scale: Scale }) {
  const left = scale.position(from);
  const width = Math.max(0, scale.position(to) - left);
  const word = kind === 'queue' ? 'In the queue' : wordOf(kind);
  return (
    <span
      className="bar"
      data-kind={kind}
      title={`${word}, ${durationText(to - from)}`}
      style={{ left: `min(${left * 100}%, calc(100% - 4px))`, width: `${width * 100}%` }}
    />
  );
}
