import { ActionIcon, Button, Fieldset, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../../../ui/icon.tsx';
import { isObject } from '../../../ui/is-object.ts';
import { ValueText } from '../values/value-text.tsx';

interface Row {
  name: string;
  value: unknown;
}

interface Props {
  value: unknown;
  onChange: (params: Readonly<Record<string, unknown>> | undefined) => void;
}

/** The parameters of a page that is opened: a name, and a text that may have expressions. */
export function ParamsField({ value, onChange }: Props) {
  // Two rows may have one name while they are typed.
  const [rows, setRows] = useState<readonly Row[]>(() =>
    Object.entries(isObject(value) ? value : {}).map(([name, one]) => ({ name, value: one })),
  );
  const change = (next: readonly Row[]) => {
    setRows(next);
    const named = next.filter(({ name }) => name !== '');
    onChange(named.length > 0 ? Object.fromEntries(named.map((row) => [row.name, row.value ?? ''])) : undefined);
  };
  return (
    <Fieldset legend="Parameters" p="xs">
      <Stack gap="xs">
        <Text size="xs">The page reads them by {'{{page.params.name}}'}</Text>
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no key but their place
          <fieldset key={at} className="item tall" aria-label={`Parameter ${at + 1}`}>
            <Stack gap="xs" flex={1}>
              <TextInput
                label="Name"
                value={row.name}
                error={rows.findIndex(({ name }) => name === row.name) < at && 'Another one has this name'}
                onChange={({ currentTarget: { value: name } }) => change(rows.with(at, { ...row, name }))}
              />
              <ValueText
                label="Value"
                placeholder="{{event.row.id}}"
                value={row.value}
                onChange={(next) => change(rows.with(at, { ...row, value: next }))}
              />
            </Stack>
            <ActionIcon
              variant="default"
              aria-label={`Remove ${row.name || `parameter ${at + 1}`}`}
              onClick={() => change(rows.toSpliced(at, 1))}
            >
              <Icon name="cross" size={12} />
            </ActionIcon>
          </fieldset>
        ))}
        <div>
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => setRows([...rows, { name: '', value: undefined }])}
          >
            Add a parameter
          </Button>
        </div>
      </Stack>
    </Fieldset>
  );
}
