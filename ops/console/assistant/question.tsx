import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { ChatPart } from '../client/chat-parts.ts';
import { withoutTurning } from '../code/turning.ts';
import { isObject } from '../ui/is-object.ts';

interface Props {
  part: ChatPart;
  isOpen: boolean;
  onAnswer: (answer: unknown) => void;
}

interface Asked {
  kind?: unknown;
  title?: unknown;
  description?: unknown;
  fields?: unknown;
  choices?: unknown;
}

/** A question of the model: a choice, a yes, or fields. */
export function Question({ part, isOpen, onAnswer }: Props) {
  const { kind, title, description, fields, choices } = (isObject(part.input) ? part.input : {}) as Asked;
  const isAsked = part.state === 'input-available' && isOpen;
  return (
    <section className="assistant-card" data-tone={isAsked ? 'wait' : undefined} aria-label="Question">
      <Text size="sm" fw={600}>
        <bdi>{withoutTurning(String(title ?? ''))}</bdi>
      </Text>
      {typeof description === 'string' && <Text size="sm">{withoutTurning(description)}</Text>}
      {!isAsked && <Text size="sm">{answerIn(part)}</Text>}
      {isAsked && kind === 'form' && <Fields fields={fields} onAnswer={onAnswer} />}
      {isAsked && kind !== 'form' && (
        <Group gap="xs" mt="xs">
          {choicesOf(kind, choices).map(({ id, label, answer }) => (
            <Button key={id} size="xs" variant="default" onClick={() => onAnswer(answer)}>
              {label}
            </Button>
          ))}
        </Group>
      )}
    </section>
  );
}

function choicesOf(kind: unknown, choices: unknown): { id: string; label: string; answer: unknown }[] {
  if (kind === 'confirm')
    return [
      { id: 'yes', label: 'Yes', answer: { confirmed: true } },
      { id: 'no', label: 'No', answer: { confirmed: false } },
    ];
  const listed = Array.isArray(choices) ? choices.filter(isObject) : [];
  return listed.map(({ id, label }) => ({
    id: String(id),
    label: withoutTurning(String(label)).slice(0, 200),
    answer: { choice: id },
  }));
}

function Fields({ fields, onAnswer }: { fields: unknown; onAnswer: (answer: unknown) => void }) {
  const listed = Array.isArray(fields) ? fields.filter(isObject) : [];
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    onAnswer(values);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" mt="xs">
        {listed.map(({ name, label, required }) => (
          <TextInput
            key={String(name)}
            label={withoutTurning(String(label ?? name))}
            required={required === true}
            value={values[String(name)] ?? ''}
            onChange={({ currentTarget: { value } }) => setValues({ ...values, [String(name)]: value })}
          />
        ))}
        <div>
          <Button size="xs" type="submit">
            Answer
          </Button>
        </div>
      </Stack>
    </form>
  );
}

function answerIn({ state, output }: ChatPart): string {
  if (state !== 'output-available') return 'Not answered.';
  const values = isObject(output) ? Object.values(output) : [output];
  return `Answered: ${withoutTurning(values.map(String).join(', ')).slice(0, 500)}`;
}
