import { Button, Group, Text } from '@mantine/core';
import type { ChatPart } from '../client/chat-parts.ts';
import { withoutTurning } from '../code/turning.ts';
import { CallValues } from '../ui/call-values.tsx';
import { wordsOfName } from '../ui/field-words.ts';
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
  const title = withoutTurning(wordsOfName(toolName));
  if (state === 'approval-requested' && isOpen)
    return (
      <section className="assistant-card" data-tone="wait" aria-label={`Approval: ${title}`}>
        <Text size="sm" fw={600} mb={4}>
          {decision ? `${title}: waits for your other decisions` : `May the assistant do this? ${title}`}
        </Text>
        <CallValues of={input} />
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
      <CallValues of={input} />
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
