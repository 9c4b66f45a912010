import '../query/query.css';
import { Button, Paper, Skeleton, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { OWN, OWN_TITLE } from '../client/own-database.ts';
import { createDataQuery, queryFormsRead } from '../client/queries-of-tenant.ts';
import { referenceRead } from '../client/references.ts';
import type { Schemas } from '../client/types.ts';
import { type ProposedQuery, takeLeftQuery } from '../open-page/open-page.ts';
import { QueryForm } from '../query/form.tsx';
import { useWithFoundInputs } from '../query/found-inputs.ts';
import { FromTable } from '../query/from-table.tsx';
import { isSQL } from '../query/is-sql.ts';
import { useOpenQuery } from '../query/open-query.ts';
import { Run } from '../query/run.tsx';
import { useTablesOf } from '../query/tables.ts';
import { useDraftRun } from '../query/use-draft-run.ts';
import { faultsIn, faultsOf } from '../ui/faults.ts';
import { PageTitle } from '../ui/page.tsx';
import { Picker } from '../ui/picker.tsx';
import { Problem } from '../ui/problem.tsx';
import { useUnresolvedFaults } from '../ui/unresolved-faults.ts';
import { useUnsaved } from '../ui/unsaved.ts';

const from = '/shell/t/$tenantID/queries/new';

/** A new query: of what, by which form, under which title. It is run before it is created. */
export function NewQueryPage() {
  const { tenantID } = useParams({ from });
  const { datasourceID } = useSearch({ from });
  const navigate = useNavigate();
  const { data: forms, error, refetch } = useQuery(queryFormsRead(tenantID));
  return (
    <>
      <PageTitle title="New query" />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!forms && !error && <Skeleton h={320} />}
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
    </>
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
  const target = { tenantID, type, ...(!isOwn && { datasourceID: chosen }) };
  const offered = useTablesOf(target);
  // The text of one type of query is no query of another.
  const [drafts, setDrafts] = useState<Readonly<Record<string, Readonly<Record<string, unknown>>>>>({});
  const options = drafts[chosen] ?? form?.data ?? {};
  /** How many queries were taken from the assistant: the fields are drawn anew with each. */
  const [taken, setTaken] = useState(0);
  const take = (query: ProposedQuery) => {
    const source = query.datasourceID ?? OWN;
    setChosen(source);
    setTitle((before) => before || query.title);
    setDrafts((before) => ({ ...before, [source]: query.dataQueryOptions }));
    setTaken((before) => before + 1);
  };
  useEffect(() => {
    const left = takeLeftQuery();
    if (left) take(left);
  });
  const change = (next: Readonly<Record<string, unknown>>) => setDrafts({ ...drafts, [chosen]: next });
  const whole = useWithFoundInputs(options, offered, target);
  useOpenQuery({ title, datasourceID: isOwn ? null : chosen, type, options, offered, onTake: take });
  const draft = useDraftRun(target, whole);
  const runForm = useRef<HTMLFormElement>(null);
  const create = useMutation({
    mutationFn: () =>
      createDataQuery(tenantID, {
        ...{ dataQueryTitle: title.trim(), dataQueryOptions: whole },
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
    <div className="query-sides">
      <div>
        <Paper withBorder p="md" component="section" aria-label="Query">
          <Stack gap="sm">
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
              before={[{ id: OWN, title: OWN_TITLE }]}
              accepts={({ detail }) => detail !== undefined && forms[detail] !== undefined}
              value={chosen}
              onChange={(next) => next && setChosen(next)}
            />
            {isOwn && form && (
              <FromTable
                tenantID={tenantID}
                text={String(options.query ?? '')}
                initial={String(form.data?.query ?? '')}
                onText={(query) => change({ ...options, query })}
              />
            )}
            {form && (
              <QueryForm
                key={`${chosen} ${taken}`}
                {...{ form, options, whole, offered, runForm }}
                faults={faultsIn('dataQueryOptions', create.error)}
                onChange={change}
              />
            )}
            {create.error && <Problem error={create.error} />}
            <div>
              <Button loading={create.isPending} onClick={() => create.mutate()}>
                Create
              </Button>
            </div>
          </Stack>
        </Paper>
        <Paper withBorder p="md" component="section" aria-label="Try it">
          <Run
            key={chosen}
            definitions={whole.inputDefinitions}
            note={draft ? noteOf(form) : 'You may not run a query that is not saved.'}
            run={draft?.run}
            explain={form && isSQL(form) ? draft?.explain : undefined}
            form={runForm}
          />
        </Paper>
      </div>
    </div>
  );
}

function noteOf(form: Schemas['DatasourceForm'] | undefined): string {
  return form && isSQL(form)
    ? '“Run” executes this text now, before the query is created. A statement that changes data changes it.'
    : '“Run” executes the query now, before it is created. What it sends or changes is sent or changed.';
}
