import { Button, Fieldset, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useContext } from 'react';
import { type PickedType, referenceRead, sourceOf } from '../client/references.ts';
import { reasonOf } from '../client/unknown-title.ts';
import { ValuesOfStep } from '../values/context.ts';
import { useTenantID } from './asset-title.tsx';
import { type DeclaredInput, declaredInputs, undeclaredKeys } from './declared.ts';
import { OrExpression } from './expression.tsx';
import { InputControl } from './input-control.tsx';
import { NoInputs } from './no-inputs.tsx';
import { JSONControl } from './schema-control.tsx';
import { withValueAt } from './schema-value.ts';
import type { Templates } from './template.ts';

type Values = Readonly<Record<string, unknown>>;

interface Shared {
  label: string;
  description?: ReactNode;
  disabled?: boolean;
  value: Values | undefined;
  /** Undefined: no input has a value. */
  onChange: (value: Values | undefined) => void;
  /** Absent: values only. */
  root: Templates['root'] | undefined;
  faultOf: (key: string) => string | undefined;
  /** Those that are required may be given elsewhere. */
  areOptional?: boolean;
}

interface Props extends Shared {
  type: PickedType;
  id: string;
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
  if (inputs.length > 0) return <InputFields key={id} {...form} noun={noun} inputs={inputs} />;
  const { value } = form;
  if (data)
    return (
      <NoInputs key={id} noun={noun} isOpen={value !== undefined && Object.keys(value).length > 0}>
        {other}
      </NoInputs>
    );
  return (
    <div>
      {other}
      <Text size="xs" mt={4}>
        The declared inputs are not known: {unread[reasonOf(error) ?? 'unknown']}
      </Text>
    </div>
  );
}

const unread = {
  gone: 'it was deleted, or never existed',
  hidden: 'you may not read it',
  unknown: 'it could not be read',
} as const;

interface FieldsProps extends Shared {
  noun: string;
  inputs: readonly DeclaredInput[];
}

/** A field for each declared input, and for each value that the declaration does not have. */
export function InputFields({
  noun,
  inputs,
  label,
  description,
  disabled = false,
  value = {},
  onChange,
  root,
  faultOf,
  areOptional = false,
}: FieldsProps) {
  const set = (key: string, next: unknown) => {
    const all = withValueAt(value, [key], next) as Values;
    onChange(Object.keys(all).length > 0 ? all : undefined);
  };
  const here = useContext(ValuesOfStep);
  return (
    <Fieldset legend={label} p="xs" disabled={disabled}>
      <Stack gap="sm">
        {here?.Fill && root && !disabled && <here.Fill values={here.values} {...{ inputs, value, onChange }} />}
        {description && <Text size="xs">{description}</Text>}
        {inputs.map((input) => (
          <OrExpression
            key={input.key}
            {...{ root, disabled }}
            label={input.label}
            description={input.description}
            error={faultOf(input.key)}
            required={!areOptional && input.isRequired && input.initial === undefined}
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
