import { Select, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { FormDialog } from '../ui/form.tsx';
import { JSONEditor } from '../ui/json-editor.tsx';
import { parseJSON } from '../ui/json-text.ts';
import { checkedPin, type EditedStep, type Pin } from './pins.ts';

interface Props {
  node: EditedStep;
  pin: Pin | undefined;
  exits: readonly { id: string; name: string }[];
  onPin: (pin: Pin) => void;
  onClose: () => void;
}

/** Asks for the result that tests take for a step. */
export function PinDialog({ node: { data }, pin, exits, onPin, onClose }: Props) {
  const [text, setText] = useState(() => JSON.stringify(pin?.output ?? emptyOutput(data), null, 2));
  const [exit, setExit] = useState(pin?.exit ?? '');
  const save = useMutation({
    mutationFn: async () => {
      onPin(checkedPin(parseJSON(text), exit === '' ? undefined : exit));
    },
    onSuccess: onClose,
  });
  const faults = new Map(save.error ? [['data', save.error.message]] : []);
  return (
    <FormDialog title="Result for tests" verb="Pin" size="lg" save={save} faults={faults} onClose={onClose}>
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
        error={faults.get('data')}
        onChange={(next) => {
          setText(next);
          save.reset();
        }}
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
