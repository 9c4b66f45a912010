import { Button, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useBlocker, useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import {
  dataQueryRead,
  type QueryPlace,
  queryFormsRead,
  runDataQuery,
  saveDataQuery,
} from '../client/queries-of-tenant.ts';
import { APIError } from '../client/rest.ts';
import type { Schemas } from '../client/types.ts';
import { inputFields } from '../ui/as-fields.ts';
import { enteredValues, Fields, initialValues } from '../ui/fields.tsx';
import { May } from '../ui/may.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { ResultTable } from '../ui/result-table.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import type { Layout, Schema } from '../ui/schema-parts.ts';
import { WhoChanged } from '../ui/who-changed.tsx';

type DataQuery = Schemas['DataQuery'];
type Form = Schemas['DatasourceForm'];

/** A query: its text or form, its inputs, and what it answers. */
export function QueryPage() {
  const place = useParams({ from: '/shell/t/$tenantID/queries/$dataQueryID' });
  const query = useQuery(dataQueryRead(place));
  const forms = useQuery(queryFormsRead(place.tenantID));
  const error = query.error ?? forms.error;
  if (error)
    return (
      <>
        <PageTitle title="Query" />
        <Problem error={error} onRetry={() => void query.refetch()} />
      </>
    );
  if (!query.data || !forms.data) return <Skeleton h={320} />;
  const form = forms.data[query.data.datasourceType];
  return <Query key={place.dataQueryID} place={place} query={query.data} form={form} />;
}

function Query({ place, query, form }: { place: QueryPlace; query: DataQuery; form: Form | undefined }) {
  const queries = useQueryClient();
  const [saved, setSaved] = useState<Readonly<Record<string, unknown>>>(query.dataQueryOptions);
  const [options, setOptions] = useState(saved);
  const isDirty = options !== saved;
  useBlocker({
    shouldBlockFn: () => isDirty && !window.confirm('Leave without saving the changes?'),
    enableBeforeUnload: isDirty,
  });
  const save = useMutation({
    mutationFn: async () => {
      await saveDataQuery(place, options);
      return options;
    },
    onSuccess: (sent) => {
      setSaved(sent);
      void queries.invalidateQueries({ queryKey: ['data-queries', place.tenantID] });
    },
  });
  const faults = new Map(
    (save.error instanceof APIError ? save.error.issues : []).map(({ path, message }) => [
      path.slice(path[0] === 'dataQueryOptions' ? 1 : 0).join('.'),
      message,
    ]),
  );
  return (
    <>
      <PageTitle title={query.dataQueryTitle} beside={<Text size="sm">{query.datasourceType}</Text>}>
        <WhoChanged tenantID={place.tenantID} assetID={place.dataQueryID} />
        <May permission="dataquery.update" on={`dataquery:${place.dataQueryID}`}>
          <Button variant="default" disabled={!isDirty} loading={save.isPending} onClick={() => save.mutate()}>
            Save
          </Button>
        </May>
      </PageTitle>
      <div className="said">{save.error && <Problem error={save.error} />}</div>
      <div className="split">
        <Paper withBorder p="md" component="section" aria-label="Query">
          {form ? (
            <SchemaForm
              schema={form.schema as Schema}
              uischema={form.uischema as unknown as Layout}
              value={options}
              faults={faults}
              onChange={setOptions}
            />
          ) : (
            <Text size="sm">This server has no form for “{query.datasourceType}”.</Text>
          )}
        </Paper>
        <Paper withBorder p="md" component="section" aria-label="Run">
          <Run
            key={JSON.stringify(saved.inputDefinitions)}
            place={place}
            definitions={saved.inputDefinitions}
            isDirty={isDirty}
          />
        </Paper>
      </div>
    </>
  );
}

/** The saved query is run, so the page says if that is another one than is shown. */
function Run({ place, definitions, isDirty }: { place: QueryPlace; definitions: unknown; isDirty: boolean }) {
  const fields = inputFields(definitions);
  const [values, setValues] = useState(() => initialValues(fields));
  const run = useMutation({ mutationFn: async () => runDataQuery(place, enteredValues(fields, values)) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // The answer of the run before is not shown as that of this one.
    run.reset();
    run.mutate();
  };
  return (
    <Stack>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Fields fields={fields} values={values} onChange={setValues} />
          {isDirty && <Text size="sm">The saved query is run, without the changes.</Text>}
          <May permission="dataquery.execute" on={`dataquery:${place.dataQueryID}`}>
            <Button type="submit" loading={run.isPending}>
              Run
            </Button>
          </May>
        </Stack>
      </form>
      {run.error && <Problem error={run.error} />}
      {run.data && <ResultTable answer={run.data} />}
    </Stack>
  );
}
