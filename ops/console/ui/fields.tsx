import { Checkbox, NumberInput, TextInput } from '@mantine/core';
import { parseExact } from '#shared/core/lossless-json.ts';
import type { Field } from './field.ts';
import { JSONEditor } from './json-editor.tsx';

/** As entered: JSON stays text until it is sent. */
export type Values = Readonly<Record<string, unknown>>;

export function Fields({
  fields,
  values,
  onChange,
}: {
  fields: readonly Field[];
  values: Values;
  onChange: (values: Values) => void;
}) {
  return fields.map((field) => (
    <Control
      key={field.key}
      field={field}
      value={values[field.key]}
      onChange={(value) => onChange({ ...values, [field.key]: value })}
    />
  ));
}

interface ControlProps {
  field: Field;
  value: unknown;
  onChange: (value: unknown) => void;
}

function Control({ field, value, onChange }: ControlProps) {
  const { label, kind, isRequired = false, placeholder, description } = field;
  const shared = { label, description, placeholder };
  const text = typeof value === 'string' ? value : '';
  if (kind === 'checkbox')
    return (
      <Checkbox
        label={label}
        description={description}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (kind === 'number')
    return (
      <NumberInput
        {...shared}
        required={isRequired}
        value={typeof value === 'number' ? value : text}
        onChange={onChange}
        hideControls
      />
    );
  if (kind === 'json')
    return <JSONEditor {...shared} required={isRequired} maxRows={14} formats value={text} onChange={onChange} />;
  return (
    <TextInput
      {...shared}
      required={isRequired}
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function initialValues(fields: readonly Field[]): Values {
  return Object.fromEntries(fields.map((field) => [field.key, initialOf(field)]));
}

/** Collects the values to send: fields that were left empty are absent. Throws where a text is not JSON. */
export function enteredValues(fields: readonly Field[], values: Values): Record<string, unknown> {
  const entered = fields.flatMap((field): [string, unknown][] => {
    const value = values[field.key];
    if (value === undefined || value === '') return [];
    return [[field.key, field.kind === 'json' ? parsed(field, String(value)) : value]];
  });
  return Object.fromEntries(entered);
}

function initialOf({ kind, initial }: Field): unknown {
  if (kind === 'checkbox') return initial === true;
  if (initial === undefined || initial === null) return '';
  return kind === 'json' ? JSON.stringify(initial, null, 2) : initial;
}

function parsed({ label }: Field, text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    throw new Error(`${label}: ${(error as Error).message}`);
  }
}
