import { TextInput } from '@mantine/core';
import { useState } from 'react';

/** Takes effect with Enter, or when it is left. */
export function TextFilter({
  label,
  placeholder = 'Any',
  value = '',
  onSet,
}: {
  label: string;
  placeholder?: string;
  value: string | undefined;
  onSet: (value: string | undefined) => void;
}) {
  const [typed, setTyped] = useState(value);
  const [last, setLast] = useState(value);
  if (last !== value) {
    setLast(value);
    setTyped(value);
  }
  const apply = () => typed.trim() !== value && onSet(typed.trim() || undefined);
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => event.key === 'Enter' && apply()}
    />
  );
}
