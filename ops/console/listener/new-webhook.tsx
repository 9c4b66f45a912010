import { Button, Group, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { createListener } from '../client/listeners.ts';
import { createDatasource, deleteDatasource } from '../client/sources.ts';
import type { Schemas } from '../client/types.ts';
import { Copy } from '../ui/copy.tsx';
import { DeclaredInputs } from '../ui/declared-inputs.tsx';
import { faultsIn, faultsOf } from '../ui/faults.ts';
import { NewForm } from '../ui/form.tsx';
import { Picker } from '../ui/picker.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import type { Layout } from '../ui/schema-shape.ts';
import { useUnsaved } from '../ui/unsaved.ts';
import { ValuesOfEvent } from './event-values.tsx';

type Options = Readonly<Record<string, unknown>>;

interface Props {
  tenantID: string;
  /** The form of the datasource whose listeners have an address. */
  form: Schemas['DatasourceForm'];
  onCreated: (listenerID: string) => unknown;
}

/** An address for deliveries, and the workflow that they start. Its datasource is made with it and has its title. */
export function NewWebhook({ tenantID, form, onCreated }: Props) {
  const queries = useQueryClient();
  const [title, setTitle] = useState('');
  const [options, setOptions] = useState<Options>(form.data);
  const [workflowID, setWorkflowID] = useState<string>();
  const [inputValues, setInputValues] = useState<Options>();
  const create = useMutation({
    mutationFn: () => createWebhook(tenantID, { title: title.trim(), options, workflowID, inputValues }),
    async onSuccess(listenerID) {
      await queries.invalidateQueries({ queryKey: ['listeners', tenantID] });
      await queries.invalidateQueries({ queryKey: ['datasources', tenantID] });
      await onCreated(listenerID);
    },
  });
  const change = (next: Options) => {
    // A refusal that was corrected is not one any more.
    create.reset();
    setOptions(next);
  };
  // Its datasource is made before the listener: a page that is closed between them would leave it alone.
  useUnsaved(options !== form.data || title !== '' || workflowID !== undefined || create.isPending);
  const faults = faultsOf(create.error);
  return (
    <NewForm save={create}>
      <TextInput
        label="Title"
        required
        placeholder="Pushes of GitHub"
        value={title}
        error={faults.get('datasourceTitle') ?? faults.get('listenerTitle')}
        onChange={({ currentTarget: { value } }) => setTitle(value)}
      />
      <SchemaForm
        form={{ schema: form.schema, uischema: shortened(form.uischema as unknown as Layout) }}
        value={options}
        faults={faultsIn('datasourceOptions', create.error)}
        onChange={change}
      />
      <Secret options={options} onChange={change} />
      <Picker
        types={['workflow']}
        label="Workflow that each delivery starts"
        description="Empty: deliveries are recorded only"
        value={workflowID}
        error={faultsIn('actions', create.error).get('0.actionConfig.workflowID')}
        onChange={(next) => {
          setWorkflowID(next);
          setInputValues(undefined);
        }}
      />
      {workflowID !== undefined && (
        <ValuesOfEvent>
          <DeclaredInputs
            type="workflow"
            id={workflowID}
            label="Its inputs, from each delivery"
            description="Such as {{event.body.amount}}. Without any it gets the delivery as its input “event”"
            root="event"
            value={inputValues}
            faultOf={(key) => faultsIn('actions', create.error).get(`0.actionConfig.inputValues.${key}`)}
            other={null}
            onChange={setInputValues}
          />
        </ValuesOfEvent>
      )}
      <Text size="xs" c="dimmed">
        Once it is created its address is shown, and it receives at once. Methods, a handshake and a previous secret are
        options of its datasource, which is made with it.
      </Text>
    </NewForm>
  );
}

/** Senders to whom a secret is given, and that do not give one. */
const givenSecret: readonly unknown[] = ['github', 'gitlab', 'header', 'query_param', 'hmac'];

/** A secret is made up where the sender is told it. */
function Secret({ options, onChange }: { options: Options; onChange: (options: Options) => void }) {
  if (!givenSecret.includes(options.authType)) return null;
  const secret = typeof options.authSecret === 'string' ? options.authSecret : '';
  return (
    <Group gap="xs">
      <Button size="xs" variant="default" onClick={() => onChange({ ...options, authSecret: aSecret() })}>
        Make up a secret
      </Button>
      {secret !== '' && <Copy value={secret} of="the secret" />}
      <Text size="xs" c="dimmed">
        Give the sender the same one. It is not shown again.
      </Text>
    </Group>
  );
}

function aSecret(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The layout without what few senders need. */
function shortened(layout: Layout): Layout {
  const left = new Set(['#/properties/allowedMethods', '#/properties/previousSecret']);
  const elements = layout.elements
    ?.filter(({ type, scope }) => type !== 'Group' && !left.has(scope ?? ''))
    .map(shortened);
  return elements ? { ...layout, elements } : layout;
}

interface Wanted {
  title: string;
  options: Options;
  workflowID: string | undefined;
  inputValues: Options | undefined;
}

/** The listener begins to receive with all that it has. If it is refused, its datasource goes too. */
async function createWebhook(tenantID: string, { title, options, workflowID, inputValues }: Wanted): Promise<string> {
  const datasourceID = await createDatasource(tenantID, {
    datasourceTitle: title,
    datasourceType: 'webhook',
    datasourceOptions: options as Schemas['DatasourceCreate']['datasourceOptions'],
  });
  const actions =
    workflowID === undefined
      ? []
      : [
          {
            actionType: 'trigger_workflow' as const,
            actionConfig: { workflowID, ...(inputValues && { inputValues }) },
          },
        ];
  try {
    return await createListener(tenantID, { listenerTitle: title, datasourceID, actions, status: 'active' });
  } catch (error) {
    await deleteDatasource({ tenantID, datasourceID }).catch(() => undefined);
    throw error;
  }
}
