import { Button, Checkbox, Group, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { addAction, changeAction, deleteAction, type ListenerIDs } from '../client/listeners.ts';
import { useMay } from '../client/may.ts';
import type { Schemas } from '../client/types.ts';
import { Confirm } from '../ui/confirm.tsx';
import { faultsIn } from '../ui/faults.ts';
import { FormDialog } from '../ui/form.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import { ActionWords } from './action-words.tsx';
import { EventValues } from './event-values.tsx';

type Action = Schemas['Listener']['actions'][number];
type Forms = Readonly<Record<string, Schemas['ListenerActionForm']>>;

interface Props {
  ids: ListenerIDs;
  listener: Schemas['Listener'];
  forms: Forms;
}

/** Actions on each event, in this order. */
export function Actions({ ids, listener: { actions }, forms }: Props) {
  const mayChange = useMay(`listener:${ids.listenerID}`)('listener.update');
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['listener', ids] });
  const [edited, setEdited] = useState<Action | 'new'>();
  const [doomed, setDoomed] = useState<Action>();
  const labelOf = ({ actionType }: Action) => forms[actionType]?.label ?? actionType;
  return (
    <Stack gap="xs">
      {actions.length === 0 && <Text size="sm">None: events are recorded only.</Text>}
      {actions.map((action) => (
        <div key={action.actionID}>
          <Group justify="space-between" gap="xs">
            <Text size="sm">
              {labelOf(action)}
              {!action.isEnabled && ', off'}
            </Text>
            {mayChange && (
              <Group gap={4}>
                <Button size="compact-xs" variant="default" onClick={() => setEdited(action)}>
                  Change
                </Button>
                <Button size="compact-xs" variant="default" onClick={() => setDoomed(action)}>
                  Delete
                </Button>
              </Group>
            )}
          </Group>
          <ActionWords form={forms[action.actionType]} config={action.actionConfig} />
        </div>
      ))}
      {mayChange && (
        <div>
          <Button size="xs" variant="default" onClick={() => setEdited('new')}>
            Add an action
          </Button>
        </div>
      )}
      {edited && (
        <ActionDialog
          ids={ids}
          forms={forms}
          {...(edited !== 'new' && { action: edited })}
          onSaved={refresh}
          onClose={() => setEdited(undefined)}
        />
      )}
      {doomed && (
        <Confirm
          title="Delete the action"
          question={`“${labelOf(doomed)}” is deleted. Events that are processed later do without it.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteAction({ ...ids, actionID: doomed.actionID });
            await refresh();
          }}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </Stack>
  );
}

/** An action names what it starts by its id. */
const templates = { root: 'event', inIDs: false } as const;

interface DialogProps {
  ids: ListenerIDs;
  forms: Forms;
  /** Without it, a new one. */
  action?: Action;
  onSaved: () => Promise<unknown>;
  onClose: () => void;
}

function ActionDialog({ ids, forms, action, onSaved, onClose }: DialogProps) {
  const [type, setType] = useState(action?.actionType ?? 'trigger_workflow');
  const form = forms[type];
  const [drafts, setDrafts] = useState<Readonly<Record<string, Readonly<Record<string, unknown>>>>>(
    action ? { [action.actionType]: action.actionConfig } : {},
  );
  const [isEnabled, setEnabled] = useState(action?.isEnabled ?? true);
  const config = drafts[type] ?? form?.data ?? {};
  const save = useMutation({
    async mutationFn() {
      const wanted = { actionType: type, actionConfig: config, isEnabled } as Schemas['ListenerActionCreate'];
      if (action) await changeAction({ ...ids, actionID: action.actionID }, wanted);
      else await addAction(ids, wanted);
      await onSaved();
    },
    onSuccess: onClose,
  });
  return (
    <FormDialog title={action ? 'Change the action' : 'New action'} verb="Save" save={save} onClose={onClose}>
      <Select
        label="What it does"
        allowDeselect={false}
        data={Object.values(forms).map(({ actionType, label }) => ({ value: actionType, label }))}
        value={type}
        onChange={(next) => next && setType(next)}
      />
      {form && (
        <EventValues ids={ids}>
          <SchemaForm
            key={type}
            form={form}
            value={config}
            faults={faultsIn('actionConfig', save.error)}
            templates={templates}
            onChange={(next) => setDrafts({ ...drafts, [type]: next })}
          />
        </EventValues>
      )}
      <Checkbox label="On" checked={isEnabled} onChange={({ currentTarget: { checked } }) => setEnabled(checked)} />
    </FormDialog>
  );
}
