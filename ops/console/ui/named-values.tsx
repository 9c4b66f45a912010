import { ActionIcon, Button, Fieldset, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ControlProps } from './drawn.ts';
import { Icon } from './icon.tsx';
import { isObject } from './is-object.ts';
import { JSONControl } from './schema-control.tsx';

interface Row {
  id: number;
  name: string;
  value: unknown;
}

/** An object whose names its author chooses: a name and a value in each row, or JSON, which is shown where values are objects or lists. */
export function NamedValues({ label, description, error, required, disabled, value, onChange }: ControlProps) {
  const [isJSON, setJSON] = useState(() => !isFlat(value));
  const [rows, setRows] = useState(() => rowsOf(value));
  const change = (next: readonly Row[]) => {
    setRows(next);
    const named = next.filter(({ name }) => name !== '');
    onChange(named.length > 0 ? Object.fromEntries(named.map((row) => [row.name, row.value ?? ''])) : undefined);
  };
  const toggle = () => {
    setRows(rowsOf(value));
    setJSON(!isJSON);
  };
  const shared = { required: false, disabled };
  return (
    <Fieldset legend={required ? `${label} *` : label} p="xs" disabled={disabled}>
      <Stack gap="xs">
        {isJSON ? (
          <JSONControl
            {...{ description, error, value, onChange, required, disabled }}
            label={`${label} as JSON`}
            isCode
          />
        ) : (
          <>
            {description && <span className="note">{description}</span>}
            {rows.map((row, index) => (
              <fieldset key={row.id} className="item" aria-label={`${label}, ${index + 1}`}>
                <TextInput
                  label="Name"
                  disabled={disabled}
                  value={row.name}
                  error={rows.findIndex(({ name }) => name === row.name) < index && 'Another one has this name'}
                  onChange={({ currentTarget }) => change(rows.with(index, { ...row, name: currentTarget.value }))}
                />
                <JSONControl
                  {...shared}
                  label="Value"
                  description={undefined}
                  error={undefined}
                  isCode={false}
                  value={row.value}
                  onChange={(next) => change(rows.with(index, { ...row, value: next }))}
                />
                <ActionIcon
                  variant="default"
                  aria-label={`Remove ${row.name || `value ${index + 1}`}`}
                  title="Remove"
                  onClick={() => change(rows.toSpliced(index, 1))}
                >
                  <Icon name="cross" size={12} />
                </ActionIcon>
              </fieldset>
            ))}
            {error && <div className="fault">{error}</div>}
          </>
        )}
        <Group gap="xs">
          {!isJSON && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Icon name="plus" size={12} />}
              onClick={() => setRows([...rows, { id: nextID(rows), name: '', value: undefined }])}
            >
              Add to {label}
            </Button>
          )}
          {(!isJSON || value === undefined || isObject(value)) && (
            <Button size="compact-sm" variant="subtle" onClick={toggle}>
              {isJSON ? 'Show as a list' : 'Show as JSON'}
            </Button>
          )}
        </Group>
      </Stack>
    </Fieldset>
  );
}

function isFlat(value: unknown): boolean {
  if (value === undefined) return true;
  return isObject(value) && Object.values(value).every((one) => typeof one !== 'object' || one === null);
}

function rowsOf(value: unknown): readonly Row[] {
  return Object.entries(isObject(value) ? value : {}).map(([name, one], id) => ({ id, name, value: one }));
}

function nextID(rows: readonly Row[]): number {
  return Math.max(-1, ...rows.map(({ id }) => id)) + 1;
}
