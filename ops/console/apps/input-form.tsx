import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { AskedForm } from '../page/state/messages.ts';
import { type RunInput, RunInputs } from '../run/run-inputs.tsx';
import { FormDialog } from '../ui/form.tsx';

/** Asks for the inputs of a workflow. A refused start leaves it open, with what was entered. */
export function InputForm({ form }: { form: AskedForm }) {
  const [values, setValues] = useState<RunInput>();
  const start = useMutation({
    mutationFn: async () => {
      try {
        await form.start(values ?? {});
      } catch (error) {
        // The name of the field in a request says nothing to a person.
        const message = error instanceof Error ? error.message : String(error);
        throw new Error(message.replaceAll(/\b(?:args|inputParams|inputValues)\./g, ''));
      }
    },
  });
  return (
    <FormDialog title="Before it starts" verb="Start" save={start} onClose={form.leave}>
      <RunInputs definitions={form.definitions} value={values} onChange={setValues} faults={NONE} />
    </FormDialog>
  );
}

const NONE: ReadonlyMap<string, string> = new Map();
