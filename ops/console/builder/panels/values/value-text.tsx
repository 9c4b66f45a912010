import { Textarea, TextInput } from '@mantine/core';
import { TakesValues } from '../../../values/takes-values.tsx';

interface Props {
  label: string;
  description?: string;
  placeholder?: string;
  required?: boolean;
  isLong?: boolean;
  value: unknown;
  onChange: (value: string | undefined) => void;
}

/** A text that may have expressions. */
export function ValueText({ isLong = false, value, onChange, ...field }: Props) {
  const given = {
    ...field,
    value: value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value),
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value || undefined),
  };
  return (
    <TakesValues label={field.label} value={value}>
      {isLong ? <Textarea autosize maxRows={8} {...given} /> : <TextInput {...given} />}
    </TakesValues>
  );
}
