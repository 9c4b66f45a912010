import { Button, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { NodeSteps } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { focusPanel } from '../graph/workspace.tsx';
import { JSONView } from '../ui/json.tsx';
import { Notice } from '../ui/notice.tsx';
import { adviceOf, fieldsOf } from './advice.ts';
import type { AnyError } from './error-fields.ts';
import { ExplainFailure } from './explain.tsx';
import { failedStepOf, hasStepError } from './failed-step.ts';
import { type Graph, titleOf } from './graph-of.ts';

interface RunProps {
  tenantID: string;
  run: Run;
  nodes: readonly NodeSteps[];
  graph: Graph | undefined;
  onSelect: (step: string) => void;
}

/** Why a run has failed, in a line that leads to the step; the panel of the step has the rest. */
export function RunFailure({ tenantID, run, nodes, graph, onSelect }: RunProps) {
  const { error } = run;
  if (!error) return null;
  const step = failedStepOf(run);
  const { word } = adviceOf(error.code, error.message);
  const title = error.nodeID ? `${word} at “${titleOf(graph, error.nodeID)}”` : word;
  return (
    <Notice tone={run.status === 'FAILED' ? 'bad' : 'idle'} title={title}>
      {shortened(error.message)} {!hasStepError(run, nodes) && <WhatToDo tenantID={tenantID} error={error} />}{' '}
      {step !== undefined && (
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => {
            onSelect(step);
            focusPanel();
          }}
        >
          Show the step
        </Button>
      )}{' '}
      {run.status === 'FAILED' && <ExplainFailure />}
    </Notice>
  );
}

/** A message above the graph must not push it out of the window. */
const MAX_MESSAGE = 300;

function shortened(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE).toWellFormed()}…` : message;
}

/** The error of a step: which step and field, in the words of the server, and what to do. */
export function StepError({ tenantID, error, title }: { tenantID: string; error: AnyError; title: string }) {
  const { code, message, details, cause } = error;
  const { word } = adviceOf(code, message);
  const fields = fieldsOf(error);
  const answer = answerIn(details);
  return (
    <Stack gap="xs">
      <Notice tone="bad" title={`${word} at “${title}”`}>
        {message}
      </Notice>
      {fields.length > 0 && (
        <Text size="sm">
          {fields.length > 1 ? 'Fields: ' : 'Field: '}
          <code className="breaks">{fields.join(', ')}</code>
        </Text>
      )}
      {cause?.instanceID && (
        <Text size="sm">
          <Link
            className="link"
            to="/t/$tenantID/runs/$instanceID"
            params={{ tenantID, instanceID: cause.instanceID }}
            search={{}}
          >
            The run where it began
          </Link>{' '}
          failed with: <bdi>{shortened(cause.message)}</bdi>
        </Text>
      )}
      <Text size="sm">
        <WhatToDo tenantID={tenantID} error={error} />
      </Text>
      <Text size="xs" c="dimmed">
        Code <code>{code}</code>
      </Text>
      {answer !== undefined && (
        <div>
          <Text size="sm" fw={600}>
            What it answered
          </Text>
          <JSONView value={answer} label="What it answered" />
        </div>
      )}
      {isTold(details, fields) || answer !== undefined || <JSONView value={details} label="Details of the error" />}
    </Stack>
  );
}

/** The body with which another server has refused a request, as JSON if it is some; its status is in the message. */
function answerIn(details: AnyError['details']): unknown {
  const { body, status: _, ...others } = details ?? {};
  if (typeof body !== 'string' || body === '' || Object.keys(others).length > 0) return undefined;
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}

/** Issues are in the message, and their fields in a line of their own. */
function isTold(details: AnyError['details'], fields: readonly string[]): boolean {
  return Object.keys(details ?? {}).every((key) => key === 'issues' && fields.length > 0);
}

function WhatToDo({ tenantID, error }: { tenantID: string; error: AnyError }) {
  const { advice, settings } = adviceOf(error.code, error.message);
  return (
    <>
      <strong>What to do: </strong>
      {advice}
      {settings === 'limits' && (
        <>
          {' '}
          <Link className="link" to="/t/$tenantID/settings/limits" params={{ tenantID }}>
            Quotas of this tenant
          </Link>
        </>
      )}
    </>
  );
}
