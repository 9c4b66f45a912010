import { Button, Fieldset, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type PickedType, reasonOf, referenceRead, sourceOf } from '../client/references.ts';
import { useTenantID } from './asset-title.tsx';
import { type DeclaredInput, declaredInputs, undeclaredKeys } from './declared.ts';
import type { ControlProps } from './drawn.ts';
import { OrExpression } from './expression.tsx';
import { CheckControl, JSONControl, NumberControl, TextControl } from './schema-control.tsx';
import { withValueAt } from './schema-value.ts';
import type { Templates } from './template.ts';

interface Props {
  type: PickedType;
  id: string;
  label: string;
  description?: ReactNode;
  disabled?: boolean;
  value: Readonly<Record<string, unknown>> | undefined;
  onChange: (value: unknown) => void;
  /** Absent: values only. */
  root: Templates['root'] | undefined;
  faultOf: (key: string) => string | undefined;
  /** The field for those whose inputs are not known. */
  other: ReactNode;
}

/** The inputs that a query or a workflow declares, one field each. */
export function DeclaredInputs({ type, id, other, ...form }: Props) {
  const tenantID = useTenantID();
  const { data, error } = useQuery(referenceRead(tenantID, type, id));
  const { noun } = sourceOf[type];
  if (!data && !error) return <Skeleton h={80} />;
  const inputs = declaredInputs(data?.inputs);
  if (inputs.length > 0) return <Inputs key={id} {...form} noun={noun} inputs={inputs} />;
  return (
    <div>
      {other}
      <Text size="xs" mt={4}>
        {data
          ? `The ${noun} declares no inputs`
          : `The declared inputs are not known: ${unread[reasonOf(error) ?? 'unknown']}`}
      </Text>
    </div>
  );
}

const unread = {
  gone: 'it was deleted, or never existed',
  hidden: 'you may not read it',
  unknown: 'it could not be read',
} as const;

type FormProps = Omit<Props, 'type' | 'id' | 'other'> & { noun: string; inputs: readonly DeclaredInput[] };

function Inputs({
  noun,
  inputs,
  label,
  description,
  disabled = false,
  value = {},
  onChange,
  root,
  faultOf,
}: FormProps) {
  const set = (key: string, next: unknown) => {
    const all = withValueAt(value, [key], next) as object;
    onChange(Object.keys(all).length > 0 ? all : undefined);
  };
  return (
    <Fieldset legend={label} p="xs" disabled={disabled}>
      <Stack gap="sm">
        {description && <Text size="xs">{description}</Text>}
        {inputs.map((input) => (
          <OrExpression
            key={input.key}
            {...{ root, disabled }}
            label={input.label}
            description={input.description}
            error={faultOf(input.key)}
            required={input.isRequired === true && input.hint === ''}
            value={value[input.key]}
            onChange={(next) => set(input.key, next)}
          >
            {(field) => <InputControl {...field} input={input} />}
          </OrExpression>
        ))}
        {undeclaredKeys(inputs, value).map((key) => (
          <div key={key}>
            <JSONControl
              label={key}
              description={`The ${noun} does not declare it; it is kept`}
              error={faultOf(key)}
              required={false}
              disabled={disabled}
              isCode={false}
              value={value[key]}
              onChange={(next) => set(key, next)}
            />
            <Button size="compact-xs" variant="default" mt={4} onClick={() => set(key, undefined)}>
              Remove {key}
            </Button>
          </div>
        ))}
      </Stack>
    </Fieldset>
  );
}

function InputControl({ input: { kind, isTyped, hint, initial }, ...field }: ControlProps & { input: DeclaredInput }) {
  if (!isTyped) return <JSONControl {...field} isCode={false} />;
  if (kind === 'json') return <JSONControl {...field} isCode />;
  if (kind === 'number') return <NumberControl {...field} hint={hint} />;
  if (kind === 'checkbox') return <CheckControl {...field} value={field.value ?? initial} />;
  return <TextControl {...field} hint={hint} isSecret={false} isMulti={false} language="text" />;
}
