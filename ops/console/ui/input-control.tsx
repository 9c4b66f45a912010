import { TextInput } from '@mantine/core';
import type { ComponentType } from 'react';
import { isPicked } from '../client/references.ts';
import type { DeclaredInput, InputKind } from './declared.ts';
import type { ControlProps } from './drawn.ts';
import { MomentInput } from './moment-input.tsx';
import { namedBy } from './picked.ts';
import { Picker } from './picker.tsx';
import { CheckControl, ChoiceControl, JSONControl, NumberControl, TextControl } from './schema-control.tsx';

type Input = Pick<DeclaredInput, 'kind' | 'hint' | 'initial' | 'options' | 'names'>;
type Props = ControlProps & { input: Input };

/** The field for the value of a declared input. A value that its field cannot show is a text. */
export function InputControl(props: Props) {
  const { input, value } = props;
  const isShown = value === undefined || (shows[input.kind]?.(value, input) ?? true);
  const View = isShown ? views[input.kind] : TextView;
  return <View {...props} />;
}

const shows: Partial<Record<InputKind, (value: unknown, input: Input) => boolean>> = {
  'yes or no': (value) => typeof value === 'boolean',
  checkbox: (value) => typeof value === 'boolean',
  choice: (value, { options }) => options.includes(String(value)),
  date: (value) => /^\d{4}-\d\d-\d\d$/.test(String(value)),
  moment: (value) => !Number.isNaN(Date.parse(String(value))),
};

const views: Record<InputKind, ComponentType<Props>> = {
  text: TextView,
  any: ({ input: _, ...field }) => <JSONControl {...field} isCode={false} />,
  json: ({ input: _, ...field }) => <JSONControl {...field} isCode />,
  number: ({ input: { hint }, ...field }) => <NumberControl {...field} hint={hint} />,
  checkbox: ({ input: { initial }, ...field }) => <CheckControl {...field} value={field.value ?? initial} />,
  'yes or no': YesOrNo,
  choice: Choice,
  date: DateView,
  moment: Moment,
  id: ID,
};

function TextView({ input: { hint }, ...field }: Props) {
  return <TextControl {...field} hint={hint} isSecret={false} isMulti={false} language="text" />;
}

function YesOrNo({ input: { hint }, value, onChange, ...shared }: Props) {
  return (
    <ChoiceControl
      {...{ ...shared, hint }}
      data={['Yes', 'No'].map((word) => ({ value: word, label: word }))}
      value={value === undefined ? null : value === true ? 'Yes' : 'No'}
      onChange={(word) => onChange(word === null ? undefined : word === 'Yes')}
    />
  );
}

function Choice({ input: { hint, options }, value, onChange, ...shared }: Props) {
  return (
    <ChoiceControl
      {...{ ...shared, hint }}
      data={options.map((option) => ({ value: option, label: option }))}
      value={value === undefined ? null : String(value)}
      onChange={(option) => onChange(option ?? undefined)}
    />
  );
}

function DateView({ input: { hint }, value, onChange, ...shared }: Props) {
  return (
    <TextInput
      {...shared}
      type="date"
      description={withHint(shared.description, hint)}
      value={value === undefined ? '' : String(value)}
      onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
    />
  );
}

function Moment({ input: { hint }, value, onChange, ...shared }: Props) {
  const at = value === undefined ? undefined : String(value);
  return (
    <MomentInput
      {...shared}
      description={withHint(shared.description, hint)}
      value={at}
      onSet={(next) => onChange(next)}
    />
  );
}

/** Browsers show no placeholder in a field for a date. */
function withHint(description: ControlProps['description'], hint: string): ControlProps['description'] {
  if (hint === '') return description;
  return (
    <>
      {description}
      {description && '. '}Empty: {hint}
    </>
  );
}

function ID(props: Props) {
  const { input, value, onChange, ...shared } = props;
  if (!isPicked(input.names)) return <TextView {...props} />;
  return <Picker {...shared} types={[input.names]} value={namedBy(value)} onChange={(id) => onChange(id)} />;
}
