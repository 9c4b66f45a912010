import { Button, Paper, Stack, Text } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { Problem } from '../ui/problem.tsx';

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
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Section title={title}>
      <form onSubmit={submit} noValidate>
        <Stack gap="sm">
          {children}
          {save.error && faults.size === 0 && <Problem error={save.error} />}
          {mayChange && (
            <div>
              <Button type="submit" disabled={!isDirty} loading={save.isPending}>
                Save
              </Button>{' '}
              <Text span size="sm" role="status">
                {save.isSuccess && !isDirty && 'Saved.'}
              </Text>
            </div>
          )}
        </Stack>
      </form>
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
