import { Button, Paper, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useMay } from '../client/may.ts';
import {
  cloneDatasource,
  type DatasourceIDs,
  datasourceFormsRead,
  datasourceRead,
  datasourceUsageRead,
  deleteDatasource,
  saveDatasource,
  testDatasource,
} from '../client/sources.ts';
import type { Schemas } from '../client/types.ts';
import { type Options, OptionsForm } from '../datasource/options.tsx';
import { ConnectionStatus } from '../datasource/status.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { faultsIn, faultsOf } from '../ui/faults.ts';
import { wordsOfKey } from '../ui/field-words.ts';
import { JSONView } from '../ui/json.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { propertiesOf } from '../ui/schema-shape.ts';
import { useUnresolvedFaults } from '../ui/unresolved-faults.ts';
import { useUnsaved } from '../ui/unsaved.ts';
import { WhoChanged } from '../ui/who-changed.tsx';

type Datasource = Schemas['Datasource'];
type Forms = Readonly<Record<string, Schemas['DatasourceForm']>>;

/** A datasource: the options of its connection without secrets, how the connection is, and what uses it. */
export function DatasourcePage() {
  const ids = useParams({ from: '/shell/t/$tenantID/datasources/$datasourceID' });
  const source = useQuery(datasourceRead(ids));
  const forms = useQuery(datasourceFormsRead(ids.tenantID));
  const error = errorInPlaceOf(source, forms);
  if (error)
    return (
      <>
        <PageTitle title="Datasource" />
        <Problem error={error} onRetry={() => void source.refetch()} />
      </>
    );
  if (!source.data || !forms.data) return <Skeleton h={320} />;
  return <OneDatasource key={ids.datasourceID} ids={ids} source={source.data} forms={forms.data} />;
}

interface Props {
  ids: DatasourceIDs;
  source: Datasource;
  forms: Forms;
}

function OneDatasource({ ids, source, forms }: Props) {
  const may = useMay(`datasource:${ids.datasourceID}`);
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['datasources', ids.tenantID] });
  const test = useMutation({ mutationFn: () => testDatasource(ids), onSettled: refresh });
  const properties = propertiesOf(forms[source.datasourceType]?.schema ?? {});
  const fieldOf = (name: string) => String(properties[name]?.title ?? wordsOfKey(name));
  return (
    <>
      <PageTitle
        title={source.datasourceTitle}
        beside={
          <span role="status">
            <ConnectionStatus of={source} />
          </span>
        }
      >
        <WhoChanged tenantID={ids.tenantID} assetID={ids.datasourceID} />
        <More ids={ids} source={source} />
        {may('datasource.test') && (
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Test
          </Button>
        )}
      </PageTitle>
      <div className="said">
        {source.unreadableSecrets.length > 0 && (
          <Notice tone="bad" title="Sealed with a key that is not here">
            {`${source.unreadableSecrets.map(fieldOf).join(', ')}. Give it again and save, or ask the operator for the key.`}
          </Notice>
        )}
        {source.connectionStatus === 'failed' && test.isIdle && (
          <Notice tone="bad" title="The last test failed">
            Correct the options below if they have changed, and test again: the reason is shown here.
          </Notice>
        )}
        {test.error && <Problem error={test.error} />}
      </div>
      <div className="split">
        {may('datasource.update') ? (
          <Settings ids={ids} source={source} forms={forms} onSaved={refresh} />
        ) : (
          <Paper withBorder p="md">
            <JSONView value={source.datasourceOptions} label="Options" />
          </Paper>
        )}
        <Usage ids={ids} />
      </div>
    </>
  );
}

function Settings({ ids, source, forms, onSaved }: Props & { onSaved: () => Promise<unknown> }) {
  const { datasourceTitle, datasourceOptions, datasourceType } = source;
  const [saved, setSaved] = useState<{ title: string; options: Options }>({
    title: datasourceTitle,
    options: datasourceOptions,
  });
  const [draft, setDraft] = useState(saved);
  const isDirty = draft.title !== saved.title || draft.options !== saved.options;
  useUnsaved(isDirty);
  const save = useMutation({
    mutationFn: () =>
      saveDatasource(ids, {
        datasourceTitle: draft.title.trim(),
        // As long as they are as they were, their secrets need not be told apart from their masks.
        ...(draft.options !== saved.options && {
          datasourceOptions: draft.options as NonNullable<Schemas['DatasourceUpdate']['datasourceOptions']>,
        }),
      }),
    async onSuccess(changed) {
      const now = { title: changed.datasourceTitle, options: changed.datasourceOptions };
      setSaved(now);
      setDraft(now);
      await onSaved();
    },
  });
  const form = forms[datasourceType];
  const faults = faultsIn('datasourceOptions', save.error);
  const told = useUnresolvedFaults(faultsOf(save.error), { datasourceTitle: draft.title });
  return (
    <Paper withBorder p="md" component="section" aria-label="Options">
      <Stack gap="sm">
        <Text size="sm">
          {form?.label ?? datasourceType}. Stored secrets are shown as dots: leave them to keep them.
        </Text>
        <TextInput
          label="Title"
          required
          value={draft.title}
          error={told.get('datasourceTitle')}
          onChange={({ currentTarget: { value } }) => setDraft({ ...draft, title: value })}
        />
        {form ? (
          <OptionsForm
            tenantID={ids.tenantID}
            datasourceID={ids.datasourceID}
            form={form}
            options={draft.options}
            faults={faults}
            onChange={(options) => setDraft({ ...draft, options })}
          />
        ) : (
          <Text size="sm">This server has no form for “{datasourceType}”.</Text>
        )}
        {save.error && <Problem error={save.error} />}
        <div>
          <Button disabled={!isDirty} loading={save.isPending} onClick={() => save.mutate()}>
            Save
          </Button>
        </div>
      </Stack>
    </Paper>
  );
}

function Usage({ ids }: { ids: DatasourceIDs }) {
  const { tenantID } = ids;
  const { data, error } = useQuery(datasourceUsageRead(ids));
  const may = useMay();
  return (
    <Paper withBorder p="md" component="section" aria-label="Use">
      <Stack gap="xs">
        <Text component="h2" fw={600} size="sm">
          What uses it
        </Text>
        {error && <Problem error={error} />}
        {data && data.dataQueries.length + data.others.dataQueries === 0 && <Text size="sm">No query.</Text>}
        {data?.dataQueries.map(({ dataQueryID, dataQueryTitle }) => (
          <Link
            key={dataQueryID}
            className="link"
            to="/t/$tenantID/queries/$dataQueryID"
            params={{ tenantID, dataQueryID }}
          >
            <bdi>{dataQueryTitle}</bdi>
          </Link>
        ))}
        {data?.workflows.map(({ workflowID, workflowTitle }) => (
          <Text key={workflowID} size="sm">
            Workflow{' '}
            <Link className="link" to="/t/$tenantID/workflows/$workflowID" params={{ tenantID, workflowID }}>
              <bdi>{workflowTitle}</bdi>
            </Link>
          </Text>
        ))}
        {data && data.others.dataQueries + data.others.workflows > 0 && (
          <Text size="sm">
            And {data.others.dataQueries} queries and {data.others.workflows} workflows that you may not see.
          </Text>
        )}
        {may('dataquery.create') && (
          <Link
            className="link"
            to="/t/$tenantID/queries/new"
            params={{ tenantID }}
            search={{ datasourceID: ids.datasourceID }}
          >
            New query of it
          </Link>
        )}
      </Stack>
    </Paper>
  );
}

function More({ ids, source: { datasourceTitle } }: { ids: DatasourceIDs; source: Datasource }) {
  const { tenantID } = ids;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isDeleting, setDeleting] = useState(false);
  const refresh = () => queries.invalidateQueries({ queryKey: ['datasources', tenantID] });
  const clone = useMutation({
    async mutationFn() {
      const datasourceID = await cloneDatasource(ids);
      await refresh();
      await navigate({ to: '/t/$tenantID/datasources/$datasourceID', params: { tenantID, datasourceID } });
    },
  });
  return (
    <>
      {clone.error && <Problem error={clone.error} />}
      <RowMenu
        of={datasourceTitle}
        on={`datasource:${ids.datasourceID}`}
        actions={[
          { label: 'Clone', permission: 'datasource.create', isOfType: true, onClick: () => clone.mutate() },
          { label: 'Delete', permission: 'datasource.delete', onClick: () => setDeleting(true), isDangerous: true },
        ]}
      />
      {isDeleting && (
        <Confirm
          title="Delete the datasource"
          question={`“${datasourceTitle}” is deleted, with the queries and the listeners that use it.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteDatasource(ids);
            await navigate({ to: '/t/$tenantID/datasources', params: { tenantID }, ignoreBlocker: true });
            await refresh();
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </>
  );
}
