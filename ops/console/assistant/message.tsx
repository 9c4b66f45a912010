import { Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { ChatMessage, ChatPart } from '../client/chat-parts.ts';
import { withoutTurning } from '../code/turning.ts';
import { isObject } from '../ui/is-object.ts';
import { Markdown } from '../ui/markdown.tsx';
import { ASK_USER, type Decision, PLANS } from './parts.ts';
import { Question } from './question.tsx';
import { ToolCall } from './tool-call.tsx';

const WorkflowProposal = lazy(() =>
  import('./workflow-proposal.tsx').then(({ WorkflowProposal: one }) => ({ default: one })),
);
const PageProposal = lazy(() => import('./page-proposal.tsx').then(({ PageProposal: one }) => ({ default: one })));
const QueryProposal = lazy(() => import('./query-proposal.tsx').then(({ QueryProposal: one }) => ({ default: one })));

interface Props {
  tenantID: string;
  message: ChatMessage;
  /** Decisions about the calls of this step, until all are. */
  decisions: ReadonlyMap<string, Decision>;
  isLast: boolean;
  isAnswering: boolean;
  onDecide: (toolCallID: string, decision: Decision) => void;
  onAsk: (question: string) => void;
}

export function Message(props: Props) {
  const { role, parts } = props.message;
  if (role === 'user')
    return (
      <div className="assistant-said" data-role="user">
        <span className="unseen">You: </span>
        {withoutTurning(parts.map(({ text = '' }) => text).join('\n'))}
      </div>
    );
  return (
    <div className="assistant-said" data-role="assistant">
      <span className="unseen">Assistant: </span>
      {parts.map((part, index) => (
        <Part key={part.toolCallId ?? index} {...props} part={part} />
      ))}
    </div>
  );
}

function Part({ part, ...props }: Props & { part: ChatPart }) {
  const { type, text } = part;
  if (type === 'text') return text ? <Markdown text={text} /> : null;
  if (type !== 'dynamic-tool') return null;
  const { toolName, state, output, toolCallId: id = '' } = part;
  const shown = { id, tenantID: props.tenantID, onAsk: props.onAsk };
  const isDone = state === 'output-available' && isObject(output);
  const change = isDone ? changeIn(toolName, output) : undefined;
  const query = isDone ? queryIn(toolName, output) : undefined;
  const page = isDone && toolName === 'proposePage' ? output : undefined;
  if (!change && !query && !page) return <Call part={part} {...props} />;
  return (
    <Suspense>
      {change && <WorkflowProposal {...shown} output={change} />}
      {page && <PageProposal {...shown} output={page} />}
      {query && <QueryProposal {...shown} output={query} />}
    </Suspense>
  );
}

/** A call of a tool that proposes nothing. */
function Call({ part, ...props }: Props & { part: ChatPart }) {
  const { toolName, state, output, toolCallId: id = '' } = part;
  const isOpen = props.isLast && !props.isAnswering;
  if (toolName === ASK_USER)
    return <Question part={part} isOpen={isOpen} onAnswer={(answer) => props.onDecide(id, { answer })} />;
  if (PLANS.has(toolName)) return state === 'output-available' ? <Plan output={output} /> : null;
  return (
    <ToolCall
      part={part}
      decision={props.decisions.get(id)}
      isOpen={isOpen}
      onDecide={(approved) => props.onDecide(id, { approved })}
    />
  );
}

/** A workflow, or a change of one, that the model proposes, or that the API has generated for it. */
function changeIn(toolName: string | undefined, output: Record<string, unknown>): Record<string, unknown> | undefined {
  if (toolName === 'proposeWorkflow') return output;
  const { workflow } = output;
  if (toolName !== 'generate_workflow' || !isObject(workflow)) return undefined;
  const { title, workflowDescription, workflowNodes: steps, workflowEdges: connections, workflowOptions } = workflow;
  return {
    ...{ workflowID: null, title, summary: workflowDescription ?? '', steps, connections },
    ...{ removedSteps: [], removedConnections: [], options: workflowOptions },
  };
}

/** A query that the model proposes, or that the API has generated for it. */
function queryIn(toolName: string | undefined, output: Record<string, unknown>): Record<string, unknown> | undefined {
  if (toolName === 'proposeQuery') return output;
  const { dataQuery } = output;
  if (toolName !== 'generate_query' || !isObject(dataQuery)) return undefined;
  const { dataQueryTitle: title, datasourceID = null, dataQueryOptions } = dataQuery;
  return { title, datasourceID, dataQueryOptions, summary: '' };
}

const stepWords: Readonly<Record<string, string>> = {
  pending: 'to do',
  in_progress: 'under way',
  completed: 'done',
  failed: 'failed',
};

function Plan({ output }: { output: unknown }) {
  const { title, steps } = (isObject(output) ? output : {}) as { title?: unknown; steps?: unknown };
  const listed = Array.isArray(steps) ? steps.filter(isObject) : [];
  return (
    <section className="assistant-card" aria-label="Plan">
      <Text size="sm" fw={600}>
        <bdi>{withoutTurning(String(title ?? 'Plan'))}</bdi>
      </Text>
      <ol>
        {listed.map(({ id, title: step, status }) => (
          <li key={String(id)}>
            <bdi>{withoutTurning(String(step))}</bdi>{' '}
            <span className="note">{stepWords[String(status)] ?? 'to do'}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
