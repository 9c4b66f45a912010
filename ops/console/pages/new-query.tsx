import { Select, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { createDataQuery, queryFormsRead } from '../client/queries-of-tenant.ts';
import { allDatasourcesRead } from '../client/sources.ts';
import type { Schemas } from '../client/types.ts';
import { OfferedInCode } from '../code/offered.ts';
import { OWN, useTablesOf } from '../query/tables.ts';
import { faultsIn, faultsOf } from '../ui/faults.ts';
import { NewForm, NewPage } from '../ui/form.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import { useUnresolvedFaults } from '../ui/unresolved-faults.ts';
import { useUnsaved } from '../ui/unsaved.ts';

const from = '/shell/t/$tenantID/queries/new';

/** A new query: of what, by which form, under which title. */
export function NewQueryPage() {
  const { tenantID } = useParams({ from });
  const may = useMay();
  const forms = useQuery(queryFormsRead(tenantID));
  const sources = useQuery({ ...allDatasourcesRead(tenantID), enabled: may('datasource.list') });
  const error = forms.error ?? sources.error;
  return (
    <NewPage title="New query" error={error} onRetry={() => void forms.refetch()}>
      {forms.data && <NewQuery key={tenantID} tenantID={tenantID} forms={forms.data} sources={sources.data ?? []} />}
    </NewPage>
  );
}

interface Props {
  tenantID: string;
  forms: Readonly<Record<string, Schemas['DatasourceForm']>>;
  sources: readonly Schemas['Datasource'][];
}

function NewQuery({ tenantID, forms, sources }: Props) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const given = useSearch({ from }).datasourceID;
  const [title, setTitle] = useState('');
  const [chosen, setChosen] = useState(given ?? OWN);
  const source = sources.find(({ datasourceID }) => datasourceID === chosen);
  const type = source?.datasourceType ?? OWN;
  const form = forms[type];
  const offered = useTablesOf(type, tenantID);
  // The text of one type of query is no query of another.
  const [drafts, setDrafts] = useState<Readonly<Record<string, Readonly<Record<string, unknown>>>>>({});
  const options = drafts[chosen] ?? form?.data ?? {};
  const create = useMutation({
    mutationFn: () =>
      createDataQuery(tenantID, {
        ...{ dataQueryTitle: title.trim(), dataQueryOptions: options },
        ...(source ? { datasourceID: source.datasourceID } : { datasourceType: OWN }),
      }),
    async onSuccess(dataQueryID) {
      await queries.invalidateQueries({ queryKey: ['data-queries', tenantID] });
      await navigate({
        ...{ to: '/t/$tenantID/queries/$dataQueryID', params: { tenantID, dataQueryID } },
        ignoreBlocker: true,
      });
    },
  });
  useUnsaved(Object.keys(drafts).length > 0);
  const faults = useUnresolvedFaults(faultsOf(create.error), { dataQueryTitle: title });
  const choices = sources
    .filter(({ datasourceType }) => forms[datasourceType])
    .map(({ datasourceID, datasourceTitle, datasourceType }) => ({
      value: datasourceID,
      label: `${datasourceTitle}, ${datasourceType}`,
    }));
  return (
    <NewForm save={create}>
      <TextInput
        label="Title"
        required
        value={title}
        error={faults.get('dataQueryTitle')}
        onChange={({ currentTarget: { value } }) => setTitle(value)}
      />
      <Select
        label="Datasource"
        searchable
        allowDeselect={false}
        data={[{ value: OWN, label: 'The database of the tenant' }, ...choices]}
        value={chosen}
        onChange={(next) => next && setChosen(next)}
      />
      {form && (
        <OfferedInCode value={offered}>
          <SchemaForm
            key={chosen}
            form={form}
            value={options}
            faults={faultsIn('dataQueryOptions', create.error)}
            onChange={(next) => setDrafts({ ...drafts, [chosen]: next })}
          />
        </OfferedInCode>
      )}
    </NewForm>
  );
}
