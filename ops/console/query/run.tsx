import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type RefObject, useState } from 'react';
import type { QueryAnswer } from '../client/queries-of-tenant.ts';
import { declaredInputs } from '../ui/declared.ts';
import { InputFields } from '../ui/declared-inputs.tsx';
import { faultsIn } from '../ui/faults.ts';
import { JSONView } from '../ui/json.tsx';
import { Problem } from '../ui/problem.tsx';
import { planText } from './plan-text.ts';
import { Result } from './result.tsx';

interface Props {
  /** Declared inputs, which are asked for. */
  definitions: unknown;
  /** Which query is run, where that may be another one than is shown. */
  note?: string | undefined;
  /** Absent: the caller may not. */
  run?: ((args: object) => Promise<QueryAnswer>) | undefined;
  /** Absent: the caller may not, or no plan can be told. */
  explain?: ((args: object) => Promise<QueryAnswer>) | undefined;
  onSettled?: () => unknown;
  /** The form, which others send too. */
  form?: RefObject<HTMLFormElement | null>;
}

/** Asks for the inputs of a query, runs it, and shows what it answers. */
export function Run({ definitions, note, run, explain, onSettled, form }: Props) {
  const inputs = declaredInputs(definitions);
  const [values, setValues] = useState<Readonly<Record<string, unknown>>>();
  const act = useMutation({
    mutationFn: async (verb: 'run' | 'explain') => (verb === 'run' ? run : explain)?.({ ...values }) ?? null,
    onSettled: () => onSettled?.(),
  });
  const faults = faultsIn('inputValues', act.error);
  const start = (verb: 'run' | 'explain') => {
    if (!(verb === 'run' ? run : explain)) return;
    // The answer of the run before is not shown as that of this one.
    act.reset();
    act.mutate(verb);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start('run');
  };
  return (
    <Stack>
      <form ref={form} onSubmit={submit}>
        <Stack gap="sm">
          {inputs.length > 0 && (
            <InputFields
              label="Inputs"
              noun="query"
              root={undefined}
              inputs={inputs}
              value={values}
              onChange={setValues}
              faultOf={(key) => faults.get(key)}
            />
          )}
          {note && <Text size="sm">{note}</Text>}
          <Group gap="xs">
            {run && (
              <Button type="submit" loading={act.isPending}>
                Run
              </Button>
            )}
            {explain && (
              <Button variant="default" loading={act.isPending} onClick={() => start('explain')}>
                Explain
              </Button>
            )}
          </Group>
        </Stack>
      </form>
      {act.error && <Problem error={act.error} />}
      {act.data && act.variables === 'explain' && (
        <>
          <Text size="sm">The plan; nothing was executed.</Text>
          <JSONView value={planText(act.data.dataQueryResult)} label="Plan" />
        </>
      )}
      {act.data && act.variables === 'run' && <Result key={act.submittedAt} answer={act.data} />}
    </Stack>
  );
}
