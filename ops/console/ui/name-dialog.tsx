import { TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { FormDialog } from './form.tsx';

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
  return (
    <FormDialog title={title} verb={verb} save={create} onClose={onClose}>
      <TextInput
        label="Title"
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
