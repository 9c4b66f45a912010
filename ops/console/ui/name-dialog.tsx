import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Problem } from './problem.tsx';

interface Props {
  title: string;
  /** The title that it has. */
  initial?: string;
  verb?: string;
  onName: (name: string) => Promise<unknown>;
  onClose: () => void;
}

/** Asks for the title of something new, or for another one. */
export function NameDialog({ title, initial = '', verb = 'Create', onName, onClose }: Props) {
  const [name, setName] = useState(initial);
  const create = useMutation({ mutationFn: () => onName(name.trim()), onSuccess: onClose });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Title"
            required
            data-autofocus
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {create.error && <Problem error={create.error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={create.isPending}>
              {verb}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
