import { Button, NumberInput, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Form } from '../ui/form.tsx';

interface Props {
  title: string;
  /** Without it nothing can be saved. */
  mayChange: boolean;
  isDirty: boolean;
  save: { error: Error | null; isPending: boolean; isSuccess: boolean; mutate: () => void };
  faults: ReadonlyMap<string, string>;
  children: ReactNode;
}

/** A group of settings that are saved together. */
export function SettingsForm({ title, mayChange, isDirty, save, faults, children }: Props) {
  const button = (
    <div>
      <Button type="submit" disabled={!isDirty} loading={save.isPending}>
        Save
      </Button>{' '}
      <Text span size="sm" role="status">
        {save.isSuccess && !isDirty && 'Saved.'}
      </Text>
    </div>
  );
  return (
    <Section title={title}>
      <Form save={save} faults={faults} button={mayChange && button}>
        {children}
      </Form>
    </Section>
  );
}

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Text component="h2" fw={600} mb="sm">
        {title}
      </Text>
      {children}
    </Paper>
  );
}

interface LimitProps {
  label: string;
  description: string;
  maw?: number;
  readOnly: boolean;
  value: number | null;
  error: string | undefined;
  onChange: (value: number | null) => void;
}

/** A whole number, or nothing for what holds without it. A text that is no number goes to the API, which refuses it. */
export function LimitInput({ value, onChange, ...input }: LimitProps) {
  return (
    <NumberInput
      {...input}
      hideControls
      value={value ?? ''}
      onChange={(typed) => onChange(typed === '' ? null : (typed as number))}
    />
  );
}
