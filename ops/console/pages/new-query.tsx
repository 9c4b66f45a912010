import { TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { createDataQuery, queryFormsRead } from '../client/queries-of-tenant.ts';
import { referenceRead } from '../client/references.ts';
import type { Schemas } from '../client/types.ts';
import { OfferedInCode } from '../code/offered.ts';
import { OWN, useTablesOf } from '../query/tables.ts';
import { faultsIn, faultsOf } from '../ui/faults.ts';
import { NewForm, NewPage } from '../ui/form.tsx';
import { Picker } from '../ui/picker.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import { useUnresolvedFaults } from '../ui/unresolved-faults.ts';
import { useUnsaved } from '../ui/unsaved.ts';

const from = '/shell/t/$tenantID/queries/new';

/** A new query: of what, by which form, under which title. */
export function NewQueryPage() {
  const { tenantID } = useParams({ from });
  const { datasourceID } = useSearch({ from });
  const navigate = useNavigate();
  const { data: forms, error, refetch } = useQuery(queryFormsRead(tenantID));
  return (
    <NewPage title="New query" error={error} onRetry={() => void refetch()}>
      {forms && (
        <NewQuery
          key={tenantID}
          tenantID={tenantID}
          forms={forms}
          datasourceID={datasourceID}
          onCreated={(dataQueryID) =>
            navigate({
              ...{ to: '/t/$tenantID/queries/$dataQueryID', params: { tenantID, dataQueryID } },
              ignoreBlocker: true,
            })
          }
        />
      )}
    </NewPage>
  );
}

interface Props {
  tenantID: string;
  forms: Readonly<Record<string, Schemas['DatasourceForm']>>;
  /** Chosen at first; absent: the tenant's own database. */
  datasourceID?: string | undefined;
  onCreated: (dataQueryID: string) => unknown;
}

export function NewQuery({ tenantID, forms, datasourceID, onCreated }: Props) {
  const queries = useQueryClient();
  const [title, setTitle] = useState('');
  const [chosen, setChosen] = useState(datasourceID ?? OWN);
  const isOwn = chosen === OWN;
  const { data: source } = useQuery({ ...referenceRead(tenantID, 'datasource', chosen), enabled: !isOwn });
  const type = isOwn ? OWN : (source?.detail ?? '');
  const form = forms[type];
  const offered = useTablesOf(type, tenantID);
  // The text of one type of query is no query of another.
  const [drafts, setDrafts] = useState<Readonly<Record<string, Readonly<Record<string, unknown>>>>>({});
  const options = drafts[chosen] ?? form?.data ?? {};
  const create = useMutation({
    mutationFn: () =>
      createDataQuery(tenantID, {
        ...{ dataQueryTitle: title.trim(), dataQueryOptions: options },
        ...(isOwn ? { datasourceType: OWN } : { datasourceID: chosen }),
      }),
    async onSuccess(dataQueryID) {
      await queries.invalidateQueries({ queryKey: ['data-queries', tenantID] });
      await onCreated(dataQueryID);
    },
  });
  useUnsaved(Object.keys(drafts).length > 0);
  const faults = useUnresolvedFaults(faultsOf(create.error), { dataQueryTitle: title });
  return (
    <NewForm save={create}>
      <TextInput
        label="Title"
        required
        value={title}
        error={faults.get('dataQueryTitle')}
        onChange={({ currentTarget: { value } }) => setTitle(value)}
      />
      <Picker
        types={['datasource']}
        label="Datasource"
        required
        before={[{ id: OWN, title: "This tenant's database" }]}
        accepts={({ detail }) => detail !== undefined && forms[detail] !== undefined}
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
