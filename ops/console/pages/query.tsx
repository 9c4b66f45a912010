import '@mantine/core/styles/Tabs.css';
import { Button, Paper, Skeleton, Tabs, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useMay } from '../client/may.ts';
import {
  cloneDataQuery,
  dataQueryRead,
  deleteDataQuery,
  explainDataQuery,
  type QueryIDs,
  queryFormsRead,
  runDataQuery,
  saveDataQuery,
} from '../client/queries-of-tenant.ts';
import { rememberAnswer } from '../client/query-answers.ts';
import type { Schemas } from '../client/types.ts';
import { QueryForm } from '../query/form.tsx';
import { useWithFoundInputs } from '../query/found-inputs.ts';
import { History } from '../query/history.tsx';
import { withOneDefault } from '../query/inputs-in.ts';
import { isSQL } from '../query/is-sql.ts';
import { useOpenQuery } from '../query/open-query.ts';
import { Run } from '../query/run.tsx';
import { SourceName } from '../query/source-name.tsx';
import { useTablesOf } from '../query/tables.ts';
import { useDraftRun } from '../query/use-draft-run.ts';
import { Confirm } from '../ui/confirm.tsx';
import { faultsIn } from '../ui/faults.ts';
import { May } from '../ui/may.tsx';
import { NameDialog } from '../ui/name-dialog.tsx';
import { NewPageDialog } from '../ui/new-page-dialog.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { useUnsaved } from '../ui/unsaved.ts';
import { WhoChanged } from '../ui/who-changed.tsx';

type DataQuery = Schemas['DataQuery'];
type Form = Schemas['DatasourceForm'];

const from = '/shell/t/$tenantID/queries/$dataQueryID';

/** A query: its text or form, its inputs, what it answers, and its runs. */
export function QueryPage() {
  const ids = useParams({ from });
  const query = useQuery(dataQueryRead(ids));
  const forms = useQuery(queryFormsRead(ids.tenantID));
  const error = errorInPlaceOf(query, forms);
  if (error)
    return (
      <>
        <PageTitle title="Query" />
        <Problem error={error} onRetry={() => void query.refetch()} />
      </>
    );
  if (!query.data || !forms.data) return <Skeleton h={320} />;
  const form = forms.data[query.data.datasourceType];
  return <Query key={ids.dataQueryID} ids={ids} query={query.data} form={form} />;
}

function Query({ ids, query, form }: { ids: QueryIDs; query: DataQuery; form: Form | undefined }) {
  const queries = useQueryClient();
  const view = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/queries/$dataQueryID' });
  const [saved, setSaved] = useState<Readonly<Record<string, unknown>>>(() => withOneDefault(query.dataQueryOptions));
  const [options, setOptions] = useState(saved);
  /** How many queries were taken from the assistant: the fields are drawn anew with each. */
  const [taken, setTaken] = useState(0);
  const { datasourceType: type, datasourceID } = query;
  const source = { tenantID: ids.tenantID, type, ...(datasourceID && { datasourceID }) };
  const offered = useTablesOf(source);
  const whole = useWithFoundInputs(options, offered, source);
  const draft = useDraftRun(source, whole);
  useOpenQuery({
    ...{ id: ids.dataQueryID, title: query.dataQueryTitle, datasourceID: datasourceID ?? null, type, options, offered },
    onTake: ({ dataQueryOptions }) => {
      setOptions(dataQueryOptions);
      setTaken(taken + 1);
    },
  });
  const may = useMay(`dataquery:${ids.dataQueryID}`);
  const runForm = useRef<HTMLFormElement>(null);
  const isDirty = options !== saved;
  // The query is run as it is shown, also before it is saved.
  const runsDraft = isDirty && draft !== undefined;
  const hasPlan = form !== undefined && isSQL(form);
  const runSaved = async (args: object) => {
    const answer = await runDataQuery(ids, args);
    rememberAnswer(ids.tenantID, ids.dataQueryID, answer);
    return answer;
  };
  const run = runsDraft ? draft.run : may('dataquery.execute') ? runSaved : undefined;
  const mayExplain = hasPlan && may('dataquery.test') && may('dataquery.read');
  const explain = runsDraft ? draft.explain : (args: object) => explainDataQuery(ids, args);
  const save = useMutation({
    mutationFn: async () => {
      await saveDataQuery(ids, { dataQueryOptions: whole });
      return { written: options, sent: whole };
    },
    onSuccess: ({ written, sent }) => {
      setSaved(sent);
      // Changes made meanwhile stay.
      setOptions((now) => (now === written ? sent : now));
      void queries.invalidateQueries({ queryKey: ['data-queries', ids.tenantID] });
    },
  });
  useUnsaved(isDirty, may('dataquery.update') ? () => save.mutateAsync() : undefined);
  return (
    <>
      <PageTitle
        title={query.dataQueryTitle}
        beside={
          <Text size="sm">
            <SourceName tenantID={ids.tenantID} datasourceID={datasourceID} type={type} />
          </Text>
        }
      >
        <WhoChanged tenantID={ids.tenantID} assetID={ids.dataQueryID} />
        <More ids={ids} query={query} />
        <May permission="dataquery.update" on={`dataquery:${ids.dataQueryID}`}>
          <Button variant="default" disabled={!isDirty} loading={save.isPending} onClick={() => save.mutate()}>
            Save
          </Button>
        </May>
      </PageTitle>
      <div className="said">{save.error && <Problem error={save.error} />}</div>
      <div className="split">
        <Paper withBorder p="md" component="section" aria-label="Query">
          {form ? (
            <QueryForm
              key={taken}
              {...{ form, options, whole, offered, runForm }}
              faults={faultsIn('dataQueryOptions', save.error)}
              onChange={setOptions}
            />
          ) : (
            <Text size="sm">This server has no form for “{query.datasourceType}”.</Text>
          )}
        </Paper>
        <Paper withBorder p="md">
          <Tabs
            value={view.tab ?? 'run'}
            onChange={(tab) => void navigate({ search: tab === 'history' ? { tab } : {} })}
          >
            <Tabs.List mb="sm">
              <Tabs.Tab value="run">Run</Tabs.Tab>
              <Tabs.Tab value="history">History</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="run">
              <Run
                definitions={whole.inputDefinitions}
                note={noteOf({ isDirty, runsDraft })}
                run={run}
                explain={mayExplain ? explain : undefined}
                onSettled={() => queries.invalidateQueries({ queryKey: ['data-query-runs', ids] })}
                form={runForm}
              />
            </Tabs.Panel>
            <Tabs.Panel value="history">
              {view.tab === 'history' && (
                <History
                  ids={ids}
                  cursor={view.cursor}
                  onGo={(cursor) => void navigate({ search: { tab: 'history', ...(cursor && { cursor }) } })}
                />
              )}
            </Tabs.Panel>
          </Tabs>
        </Paper>
      </div>
    </>
  );
}

function noteOf({ isDirty, runsDraft }: { isDirty: boolean; runsDraft: boolean }): string | undefined {
  if (!isDirty) return undefined;
  return runsDraft
    ? 'It is run with the changes, which are not saved yet.'
    : 'The saved query is run, without the changes.';
}

/** Further actions on the query. */
function More({ ids, query }: { ids: QueryIDs; query: DataQuery }) {
  const { tenantID } = ids;
  const { dataQueryTitle, isDisabled, isOfferedAsTool } = query;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<'rename' | 'delete' | 'page'>();
  const refresh = async () => {
    await queries.invalidateQueries({ queryKey: ['data-query', ids] });
    await queries.invalidateQueries({ queryKey: ['data-queries', tenantID] });
  };
  const act = useMutation({
    async mutationFn(verb: 'clone' | 'switch' | 'offer') {
      if (verb === 'switch') await saveDataQuery(ids, { isDisabled: !isDisabled });
      if (verb === 'offer') await saveDataQuery(ids, { isOfferedAsTool: !isOfferedAsTool });
      const dataQueryID = verb === 'clone' ? await cloneDataQuery(ids) : undefined;
      await refresh();
      if (dataQueryID) await navigate({ to: '/t/$tenantID/queries/$dataQueryID', params: { tenantID, dataQueryID } });
    },
  });
  const close = () => setAsked(undefined);
  return (
    <>
      {isDisabled && <Text size="sm">Disabled</Text>}
      {isOfferedAsTool && <Text size="sm">Offered as a tool</Text>}
      {act.error && <Problem error={act.error} />}
      <RowMenu
        of={dataQueryTitle}
        on={`dataquery:${ids.dataQueryID}`}
        actions={[
          { label: 'Rename', permission: 'dataquery.update', onClick: () => setAsked('rename') },
          {
            label: isDisabled ? 'Enable' : 'Disable',
            permission: 'dataquery.update',
            onClick: () => act.mutate('switch'),
          },
          {
            label: isOfferedAsTool ? 'No longer offer as a tool' : 'Offer as a tool',
            permission: 'dataquery.update',
            onClick: () => act.mutate('offer'),
          },
          { label: 'Clone', permission: 'dataquery.create', isOfType: true, onClick: () => act.mutate('clone') },
          { label: 'Make a page', permission: 'appPage.create', isOfType: true, onClick: () => setAsked('page') },
          { label: 'Delete', permission: 'dataquery.delete', onClick: () => setAsked('delete'), isDangerous: true },
        ]}
      />
      {asked === 'rename' && (
        <NameDialog
          title="Rename the query"
          initial={dataQueryTitle}
          verb="Rename"
          onName={async (title) => {
            await saveDataQuery(ids, { dataQueryTitle: title });
            await refresh();
          }}
          onClose={close}
        />
      )}
      {asked === 'page' && (
        <NewPageDialog tenantID={tenantID} begin={{ kind: 'query', id: ids.dataQueryID }} onClose={close} />
      )}
      {asked === 'delete' && (
        <Confirm
          title="Delete the query"
          question={`“${dataQueryTitle}” is deleted. Workflows that run it fail at its node.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteDataQuery(ids);
            await queries.invalidateQueries({ queryKey: ['data-queries', tenantID] });
            await navigate({ to: '/t/$tenantID/queries', params: { tenantID }, ignoreBlocker: true });
          }}
          onClose={close}
        />
      )}
    </>
  );
}
