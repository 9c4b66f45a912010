import { Select, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { parseExact } from '#shared/core/lossless-json.ts';
import { FormDialog } from '../ui/form.tsx';
import { isObject } from '../ui/is-object.ts';
import { JSONEditor } from '../ui/json-editor.tsx';
import type { EditedStep, Pin } from './pins.ts';

interface Props {
  node: EditedStep;
  pin: Pin | undefined;
  exits: readonly { id: string; name: string }[];
  onPin: (pin: Pin) => void;
  onClose: () => void;
}

/** All pinned results of a test have at most a million characters: one leaves room for others. */
const MAX_PIN = 250_000;

/** Asks for the result that tests take for a step. */
export function PinDialog({ node: { data }, pin, exits, onPin, onClose }: Props) {
  const [text, setText] = useState(() => JSON.stringify(pin?.output ?? emptyOutput(data), null, 2));
  const [exit, setExit] = useState(pin?.exit ?? '');
  const save = useMutation({
    mutationFn: async () => {
      if (text.length > MAX_PIN)
        throw new Error(`The data has ${text.length.toLocaleString()} characters: at most 250,000 can be pinned.`);
      const output = parsed(text);
      onPin({ output, ...(exit !== '' && { exit }) });
    },
    onSuccess: onClose,
  });
  return (
    <FormDialog title="Result for tests" verb="Pin" size="lg" save={save} onClose={onClose}>
      <Text size="sm">
        Tests take this result and do not run the step; runs of the published version always run it. It is saved with
        the workflow: everyone who may read the workflow sees it.
      </Text>
      <JSONEditor
        label="Data"
        description={
          typeof data.outputVariable === 'string'
            ? `An object; what later steps read as ctx.${data.outputVariable} stands under “${data.outputVariable}”`
            : 'An object'
        }
        minRows={6}
        maxRows={18}
        value={text}
        onChange={setText}
      />
      {exits.length > 1 && (
        <Select
          label="Left by"
          allowDeselect={false}
          data={[{ value: '', label: 'The usual exit' }, ...exits.map(({ id, name }) => ({ value: id, label: name }))]}
          value={exit}
          onChange={(value) => setExit(value ?? '')}
        />
      )}
    </FormDialog>
  );
}

function emptyOutput({ outputVariable }: Readonly<Record<string, unknown>>): object {
  return typeof outputVariable === 'string' ? { [outputVariable]: {} } : {};
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    throw new Error(`The data is no JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw new Error('An object was expected: what the step gives, by names.');
  return value;
}
