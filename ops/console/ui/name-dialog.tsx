import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Problem } from './problem.tsx';

/** Asks for the title of something new. */
export function NameDialog({
  title,
  onCreate,
  onClose,
}: {
  title: string;
  onCreate: (name: string) => Promise<unknown>;
  onClose: () => void;
}) {
  const [name, setName] = useState('');
  const create = useMutation({ mutationFn: () => onCreate(name.trim()), onSuccess: onClose });
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
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
