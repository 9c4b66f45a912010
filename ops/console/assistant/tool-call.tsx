import { Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ChatPart } from '../client/chat-parts.ts';
import { type PickedType, referenceRead } from '../client/references.ts';
import { withoutTurning } from '../code/turning.ts';
import { isObject } from '../ui/is-object.ts';
import { JSONView } from '../ui/json.tsx';
import type { Decision } from './parts.ts';

interface Props {
  part: ChatPart;
  /** The decision that is not sent yet: others are awaited. */
  decision: Decision | undefined;
  /** Whether it can be decided: later calls of the conversation have taken the place of this one. */
  isOpen: boolean;
  onDecide: (approved: boolean) => void;
}

/** A call of a tool: what is to be done, the decision about it where it changes something, and what came of it. */
export function ToolCall({ part, decision, isOpen, onDecide }: Props) {
  const { state, toolName = '', input, output, errorText, approval } = part;
  const title = titleOf(toolName);
  if (state === 'approval-requested' && isOpen)
    return (
      <section className="assistant-card" data-tone="wait" aria-label={`Approval: ${title}`}>
        <Text size="sm" fw={600} mb={4}>
          {decision ? `${title}: waits for your other decisions` : `May the assistant do this? ${title}`}
        </Text>
        <Values of={input} />
        {!decision && (
          <Group gap="xs" mt="xs">
            <Button size="xs" onClick={() => onDecide(true)}>
              Approve
            </Button>
            <Button size="xs" variant="default" onClick={() => onDecide(false)}>
              Refuse
            </Button>
          </Group>
        )}
      </section>
    );
  const said = wordOf(part);
  return (
    <details className="assistant-call">
      <summary>
        {title}: {said}
      </summary>
      <Values of={input} />
      {errorText !== undefined && <Text size="sm">{withoutTurning(errorText)}</Text>}
      {approval?.reason && <Text size="sm">{withoutTurning(approval.reason)}</Text>}
      {output !== undefined && <JSONView value={output} label={`Answer of ${title}`} />}
    </details>
  );
}

function wordOf({ state, approval }: ChatPart): string {
  const isApproved = approval?.approved === true;
  switch (state) {
    case 'output-available':
      return isApproved ? 'approved, done' : 'done';
    case 'output-error':
      return isApproved ? 'approved, failed' : 'failed';
    case 'output-denied':
      return 'refused';
    case 'approval-requested':
      return 'not decided';
    case 'approval-responded':
      return isApproved ? 'approved' : 'refused';
    default:
      return 'under way';
  }
}

/** The name of a tool as a person reads it. */
function titleOf(name: string): string {
  const words = name
    .replaceAll('_', ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return withoutTurning((words[0] ?? '').toUpperCase() + words.slice(1));
}

const MAX_TEXT = 4_000;

/** The arguments by their names; those in others as JSON. */
function Values({ of }: { of: unknown }) {
  if (!isObject(of)) return null;
  return (
    <dl className="assistant-values">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{withoutTurning(wordsOf(name))}</dt>
          <dd>
            <Named name={name} value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** An id is told by the title of what it names. */
function Named({ name, value }: { name: string; value: unknown }) {
  const { tenantID = '' } = useParams({ strict: false });
  const type = Object.hasOwn(named, name) ? named[name] : undefined;
  const id = typeof value === 'string' ? value : '';
  const { data } = useQuery({
    ...referenceRead(tenantID, type ?? 'workflow', id),
    enabled: type !== undefined && id !== '',
    retry: false,
  });
  return data ? <bdi>{`${withoutTurning(data.title)} (${id})`}</bdi> : withoutTurning(textOf(value));
}

const named: Readonly<Record<string, PickedType>> = {
  workflowID: 'workflow',
  dataQueryID: 'dataQuery',
  datasourceID: 'datasource',
  listenerID: 'listener',
  cronJobID: 'cronJob',
  roleID: 'role',
};

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

function wordsOf(name: string): string {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/\b([A-Z])(?=[a-z])/g, (letter) => letter.toLowerCase());
  return (words[0] ?? '').toUpperCase() + words.slice(1);
}
