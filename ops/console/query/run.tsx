import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useMay } from '../client/may.ts';
import { explainDataQuery, type QueryIDs, runDataQuery } from '../client/queries-of-tenant.ts';
import { inputFields } from '../ui/as-fields.ts';
import { enteredValues, Fields, initialValues } from '../ui/fields.tsx';
import { JSONView } from '../ui/json.tsx';
import { Problem } from '../ui/problem.tsx';
import { ResultTable } from '../ui/result-table.tsx';
import { planText } from './view.ts';

interface Props {
  ids: QueryIDs;
  definitions: unknown;
  isDirty: boolean;
  /** Whether its server can say how it would execute the query. */
  hasPlan: boolean;
}

/** The saved query is run, so the page says if that is another one than is shown. */
export function Run({ ids, definitions, isDirty, hasPlan }: Props) {
  const fields = inputFields(definitions);
  const [values, setValues] = useState(() => initialValues(fields));
  const may = useMay(`dataquery:${ids.dataQueryID}`);
  const queries = useQueryClient();
  const run = useMutation({
    mutationFn: async (act: 'run' | 'explain') => {
      const entered = enteredValues(fields, values);
      return act === 'run' ? runDataQuery(ids, entered) : explainDataQuery(ids, entered);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['data-query-runs', ids] }),
  });
  const start = (act: 'run' | 'explain') => {
    // The answer of the run before is not shown as that of this one.
    run.reset();
    run.mutate(act);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start('run');
  };
  return (
    <Stack>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Fields fields={fields} values={values} onChange={setValues} />
          {isDirty && <Text size="sm">The saved query is run, without the changes.</Text>}
          <Group gap="xs">
            {may('dataquery.execute') && (
              <Button type="submit" loading={run.isPending}>
                Run
              </Button>
            )}
            {hasPlan && may('dataquery.test') && may('dataquery.read') && (
              <Button variant="default" loading={run.isPending} onClick={() => start('explain')}>
                Explain
              </Button>
            )}
          </Group>
        </Stack>
      </form>
      {run.error && <Problem error={run.error} />}
      {run.data && run.variables === 'explain' && (
        <>
          <Text size="sm">The plan; nothing was executed.</Text>
          <JSONView value={planText(run.data.dataQueryResult)} label="Plan" />
        </>
      )}
      {run.data && run.variables === 'run' && <ResultTable key={run.submittedAt} answer={run.data} />}
    </Stack>
  );
}
