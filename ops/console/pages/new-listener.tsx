import '@mantine/core/styles/Radio.css';
import { Box, Radio, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { createListener, listenerFormsRead } from '../client/listeners.ts';
import { useMay } from '../client/may.ts';
import { referenceRead } from '../client/references.ts';
import { datasourceFormsRead } from '../client/sources.ts';
import type { Schemas } from '../client/types.ts';
import { NewWebhook } from '../listener/new-webhook.tsx';
import { faultsIn, faultsOf } from '../ui/faults.ts';
import { NewForm, NewPage } from '../ui/form.tsx';
import { Picker } from '../ui/picker.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import { useUnresolvedFaults } from '../ui/unresolved-faults.ts';
import { useUnsaved } from '../ui/unsaved.ts';

/** A new listener: an address for senders, or a connection of a datasource. */
export function NewListenerPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/listeners/new' });
  const forms = useQuery(listenerFormsRead(tenantID));
  return (
    <NewPage title="New listener" error={forms.error} onRetry={() => void forms.refetch()}>
      {forms.data && <NewOne key={tenantID} tenantID={tenantID} forms={forms.data.schemas} />}
    </NewPage>
  );
}

function NewOne(props: Props) {
  const { tenantID } = props;
  const navigate = useNavigate();
  const may = useMay();
  const mayMake = may('datasource.create') && may('listener.create');
  const { data: sources } = useQuery({ ...datasourceFormsRead(tenantID), enabled: mayMake });
  const webhook = mayMake ? sources?.webhook : undefined;
  const [asked, setAsked] = useState<'webhook' | 'datasource'>('webhook');
  const kind = mayMake ? asked : 'datasource';
  return (
    <>
      {mayMake && (
        <Box mb="md">
          <Radio.Group
            label="Where events come from"
            value={kind}
            onChange={(value) => setAsked(value as 'webhook' | 'datasource')}
          >
            <Stack gap="xs" mt={4}>
              <Radio
                value="webhook"
                label="A webhook"
                description="GitHub, Stripe, Slack or any other service sends to an address here"
              />
              <Radio
                value="datasource"
                label="A datasource"
                description="Messages of a broker, mails of a mailbox, changes in a database: a connection is kept open"
              />
            </Stack>
          </Radio.Group>
        </Box>
      )}
      {kind === 'datasource' && <NewListener {...props} />}
      {kind === 'webhook' && webhook && (
        <NewWebhook
          tenantID={tenantID}
          form={webhook}
          onCreated={(listenerID) =>
            navigate({
              ...{ to: '/t/$tenantID/listeners/$listenerID', params: { tenantID, listenerID }, search: {} },
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
  forms: Readonly<Record<string, Schemas['ListenerForm']>>;
}

/** Its actions are added to it then. */
function NewListener({ tenantID, forms }: Props) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [title, setTitle] = useState('');
  const [datasourceID, setDatasourceID] = useState<string>();
  const { data: source } = useQuery({
    ...referenceRead(tenantID, 'datasource', datasourceID ?? ''),
    enabled: datasourceID !== undefined,
  });
  const form = datasourceID === undefined ? undefined : forms[source?.detail ?? ''];
  const [drafts, setDrafts] = useState<Readonly<Record<string, Readonly<Record<string, unknown>>>>>({});
  const config = (form && drafts[form.datasourceType]) ?? form?.data ?? {};
  const create = useMutation({
    mutationFn: () =>
      createListener(tenantID, {
        ...{ listenerTitle: title.trim(), datasourceID: datasourceID ?? '' },
        listenerConfig: config as NonNullable<Schemas['ListenerCreate']['listenerConfig']>,
      }),
    async onSuccess(listenerID) {
      await queries.invalidateQueries({ queryKey: ['listeners', tenantID] });
      const params = { tenantID, listenerID };
      await navigate({
        ...{ to: '/t/$tenantID/listeners/$listenerID', params, search: { tab: 'settings' } },
        ignoreBlocker: true,
      });
    },
  });
  useUnsaved(Object.keys(drafts).length > 0);
  const faults = useUnresolvedFaults(faultsOf(create.error), { listenerTitle: title, datasourceID });
  return (
    <NewForm save={create}>
      <TextInput
        label="Title"
        required
        value={title}
        error={faults.get('listenerTitle')}
        onChange={({ currentTarget: { value } }) => setTitle(value)}
      />
      <Picker
        types={['datasource']}
        label="Datasource"
        description="Of a type that can be listened to"
        required
        accepts={({ detail }) => detail !== undefined && forms[detail] !== undefined}
        value={datasourceID}
        error={faults.get('datasourceID')}
        onChange={setDatasourceID}
      />
      {form && (
        <SchemaForm
          key={form.datasourceType}
          form={form}
          value={config}
          faults={faultsIn('listenerConfig', create.error)}
          onChange={(next) => setDrafts({ ...drafts, [form.datasourceType]: next })}
        />
      )}
    </NewForm>
  );
}
