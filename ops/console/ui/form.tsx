import { Button, Container, Group, Modal, Paper, Skeleton, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { PageTitle } from './page.tsx';
import { Problem } from './problem.tsx';

interface Saving {
  error: Error | null;
  isPending: boolean;
  mutate: () => void;
}

interface FormProps {
  save: Saving;
  /** Refusals of the API by field; with any, the fields show them. */
  faults?: ReadonlyMap<string, string>;
  /** The button, and what stands beside it. */
  button: ReactNode;
  children: ReactNode;
}

/** Fields that are sent together. The API checks them, and not the browser. */
export function Form({ save, faults, button, children }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // React would send it to the form around a dialog, too.
    event.stopPropagation();
    save.mutate();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        {children}
        {save.error && !faults?.size && <Problem error={save.error} />}
        {button}
      </Stack>
    </form>
  );
}

interface DialogProps extends Omit<FormProps, 'button'> {
  title: string;
  verb: string;
  size?: string;
  onClose: () => void;
}

export function FormDialog({ title, size, onClose, ...form }: DialogProps) {
  return (
    <Modal
      opened
      onClose={onClose}
      // A click beside the dialog must not lose typed text.
      closeOnClickOutside={false}
      title={title}
      {...(size && { size })}
    >
      <DialogForm {...form} />
    </Modal>
  );
}

/** The form of a dialog that shows something else before or after it. */
export function DialogForm({ verb, ...form }: Omit<FormProps, 'button'> & { verb: string }) {
  const button = (
    <Group justify="flex-end">
      <Button type="submit" loading={form.save.isPending}>
        {verb}
      </Button>
    </Group>
  );
  return <Form {...form} button={button} />;
}

interface PageProps {
  title: string;
  /** The error of reading data that the form needs. */
  error: Error | null;
  onRetry: () => void;
  /** The form, once that is read. */
  children: ReactNode;
}

/** The page on which something new is described. */
export function NewPage({ title, error, onRetry, children }: PageProps) {
  return (
    <Container size="sm">
      <PageTitle title={title} />
      {error && <Problem error={error} onRetry={onRetry} />}
      {!children && !error && <Skeleton h={320} />}
      {children}
    </Container>
  );
}

export function NewForm({ save, children }: { save: Saving; children: ReactNode }) {
  const button = (
    <div>
      <Button type="submit" loading={save.isPending}>
        Create
      </Button>
    </div>
  );
  return (
    <Paper withBorder p="md">
      <Form save={save} button={button}>
        {children}
      </Form>
    </Paper>
  );
}
