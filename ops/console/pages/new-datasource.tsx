import { Select, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { createDatasource, datasourceFormsRead } from '../client/sources.ts';
import type { Schemas } from '../client/types.ts';
import { type Options, OptionsForm } from '../datasource/options.tsx';
import { faultsIn, faultsOf } from '../ui/faults.ts';
import { NewForm, NewPage } from '../ui/form.tsx';
import { useUnresolvedFaults } from '../ui/unresolved-faults.ts';
import { useUnsaved } from '../ui/unsaved.ts';

type Forms = Readonly<Record<string, Schemas['DatasourceForm']>>;

/** A new datasource: its type, its title and the options of its connection. */
export function NewDatasourcePage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/datasources/new' });
  const navigate = useNavigate();
  const { data: forms, error, refetch } = useQuery(datasourceFormsRead(tenantID));
  return (
    <NewPage title="New datasource" error={error} onRetry={() => void refetch()}>
      {forms && (
        <NewDatasource
          key={tenantID}
          tenantID={tenantID}
          forms={forms}
          onCreated={(datasourceID) =>
            navigate({
              ...{ to: '/t/$tenantID/datasources/$datasourceID', params: { tenantID, datasourceID } },
              ignoreBlocker: true,
            })
          }
        />
      )}
    </NewPage>
  );
}

const categories: Record<string, string> = {
  database: 'Databases',
  api: 'Services over HTTP',
  messaging: 'Messaging',
  file: 'Files',
  mail: 'Mail',
};

/** The types by what they are about. */
function choicesOf(forms: Forms) {
  const groups = Map.groupBy(Object.values(forms), ({ category }) => category);
  return [...groups].map(([category, items]) => ({
    group: categories[category] ?? category,
    items: items.map(({ datasourceType, label }) => ({ value: datasourceType, label })),
  }));
}

interface Props {
  tenantID: string;
  forms: Forms;
  onCreated: (datasourceID: string) => unknown;
}

export function NewDatasource({ tenantID, forms, onCreated }: Props) {
  const queries = useQueryClient();
  const [title, setTitle] = useState('');
  const [type, setType] = useState<string>();
  const form = type === undefined ? undefined : forms[type];
  const [drafts, setDrafts] = useState<Readonly<Record<string, Options>>>({});
  const options = (type !== undefined && drafts[type]) || form?.data || {};
  const create = useMutation({
    mutationFn: () =>
      createDatasource(tenantID, {
        datasourceTitle: title.trim(),
        datasourceType: type as Schemas['DatasourceCreate']['datasourceType'],
        datasourceOptions: options as Schemas['DatasourceCreate']['datasourceOptions'],
      }),
    async onSuccess(datasourceID) {
      await queries.invalidateQueries({ queryKey: ['datasources', tenantID] });
      await onCreated(datasourceID);
    },
  });
  useUnsaved(Object.keys(drafts).length > 0);
  const faults = useUnresolvedFaults(faultsOf(create.error), { datasourceType: type, datasourceTitle: title });
  return (
    <NewForm save={create}>
      <Select
        label="Type"
        required
        searchable
        allowDeselect={false}
        data={choicesOf(forms)}
        value={type ?? null}
        error={faults.get('datasourceType')}
        onChange={(next) => next && setType(next)}
      />
      <TextInput
        label="Title"
        required
        value={title}
        error={faults.get('datasourceTitle')}
        onChange={({ currentTarget: { value } }) => setTitle(value)}
      />
      {form && (
        <OptionsForm
          key={type}
          tenantID={tenantID}
          form={form}
          options={options}
          faults={faultsIn('datasourceOptions', create.error)}
          onChange={(next) => setDrafts({ ...drafts, [form.datasourceType]: next })}
        />
      )}
    </NewForm>
  );
}
