import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { faultOfName } from './data/name-fault.ts';

interface Props {
  label: string;
  description: string;
  value: string;
  taken: readonly string[];
  onRename: (next: string) => void;
}

/** A name that expressions use. It is given once the field is left, because each use of it changes with it. */
export function NameField({ label, description, value, taken, onRename }: Props) {
  const [typed, setTyped] = useState<string>();
  const name = (typed ?? value).trim();
  const fault = name === value ? undefined : faultOfName(name, taken);
  const give = () => {
    if (name !== value && fault === undefined) onRename(name);
    if (fault === undefined) setTyped(undefined);
  };
  return (
    <TextInput
      {...{ label, description }}
      required
      maxLength={255}
      value={typed ?? value}
      error={fault}
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      onBlur={give}
      onKeyDown={(event) => event.key === 'Enter' && give()}
    />
  );
}
