import { TextInput } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  label: string;
  description?: ReactNode;
  error?: ReactNode;
  required?: boolean;
  disabled?: boolean;
  value: string | undefined;
  onSet: (at: string | undefined) => void;
}

/** A moment that is entered in the time of the browser. */
export function MomentInput({ value, onSet, ...shared }: Props) {
  return (
    <TextInput
      {...shared}
      type="datetime-local"
      value={value === undefined ? '' : localText(new Date(value))}
      onChange={({ currentTarget: { value: typed } }) => {
        const at = new Date(typed);
        onSet(Number.isNaN(at.getTime()) ? undefined : at.toISOString());
      }}
    />
  );
}

/** As the field takes it: without a zone. */
function localText(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
