import { Button, Fieldset, Group, Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Offered } from '../code/offered.ts';
import { type FoundInput, foundInputs, type InputType, unusedInputs, withInputs } from './inputs-in.ts';
import type { Source } from './tables.ts';

type Options = Readonly<Record<string, unknown>>;

interface Found {
  inputs: readonly FoundInput[];
  /** The options with the found inputs declared, as they are run and saved. */
  whole: Options;
  choose: (key: string, type: InputType) => void;
}

/** Inputs that a query names and does not declare. Their types come from the tables, until a person chooses others. */
export function useFoundInputs(options: Options, { tables }: Offered, source: Source): Found {
  const [chosen, setChosen] = useState<Readonly<Record<string, InputType>>>({});
  const named = useMemo(() => foundInputs(options).length > 0, [options]);
  const { data } = useQuery({
    queryKey: ['found-inputs', source.tenantID, source],
    queryFn: async () => (await tables?.()) ?? {},
    enabled: named && tables !== undefined,
    staleTime: 60_000,
    retry: false,
  });
  return useMemo(() => {
    const inputs = foundInputs(options, data).map((one) => ({ ...one, type: chosen[one.key] ?? one.type }));
    return {
      inputs,
      whole: withInputs(options, inputs),
      choose: (name, type) => setChosen((before) => ({ ...before, [name]: type })),
    };
  }, [options, data, chosen]);
}

const types: readonly { value: InputType; label: string }[] = [
  { value: 'string', label: 'Text' },
  { value: 'number', label: 'Number' },
  { value: 'boolean', label: 'Yes or no' },
  { value: 'object', label: 'Object' },
  { value: 'array', label: 'List' },
];

interface Props {
  found: Found;
  options: Options;
  /** Takes the found inputs into the list of declared ones. */
  onDeclare: (whole: Options) => void;
}

/** Offers the found inputs with their types, and names those that nothing uses. */
export function FoundInputs({ found: { inputs, whole, choose }, options, onDeclare }: Props) {
  const unused = useMemo(() => unusedInputs(options), [options]);
  if (inputs.length === 0 && unused.length === 0) return null;
  return (
    <Stack gap="xs" mt="sm">
      {inputs.length > 0 && (
        <Fieldset legend="Inputs found in the query" p="xs">
          <Stack gap="xs">
            {inputs.map(({ key, type }) => (
              <Group key={key} gap="xs" wrap="nowrap" justify="space-between">
                <code className="breaks">{key}</code>
                <Select
                  aria-label={`Type of ${key}`}
                  size="xs"
                  w={130}
                  allowDeselect={false}
                  data={[...types]}
                  value={type}
                  onChange={(next) => next && choose(key, next as InputType)}
                />
              </Group>
            ))}
            <Text size="xs">They are declared with these types when the query is saved.</Text>
            <div>
              <Button size="compact-sm" variant="default" onClick={() => onDeclare(whole)}>
                Set defaults
              </Button>
            </div>
          </Stack>
        </Fieldset>
      )}
      {unused.length > 0 && (
        <Text size="xs">
          Declared, and used nowhere in the query: <bdi>{unused.join(', ')}</bdi>
        </Text>
      )}
    </Stack>
  );
}
