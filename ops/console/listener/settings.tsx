import { Button, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { type ListenerIDs, listenerFormsRead, saveListener } from '../client/listeners.ts';
import type { Schemas } from '../client/types.ts';
import { faultsIn } from '../ui/faults.ts';
import { JSONView } from '../ui/json.tsx';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import { useUnsaved } from '../ui/unsaved.ts';
import { Actions } from './actions.tsx';

interface Props {
  ids: ListenerIDs;
  listener: Schemas['Listener'];
}

/** The configuration as the API describes it, and the actions as they are. */
export function Settings({ ids, listener }: Props) {
  const read = useQuery(listenerFormsRead(ids.tenantID));
  const { data: forms } = read;
  const error = errorInPlaceOf(read);
  const queries = useQueryClient();
  const [saved, setSaved] = useState<Readonly<Record<string, unknown>>>(listener.listenerConfig);
  const [config, setConfig] = useState(saved);
  const isDirty = config !== saved;
  useUnsaved(isDirty);
  const save = useMutation({
    mutationFn: async () => {
      await saveListener(ids, { listenerConfig: config as Schemas['ListenerUpdate']['listenerConfig'] & object });
      return config;
    },
    onSuccess: async (sent) => {
      setSaved(sent);
      await queries.invalidateQueries({ queryKey: ['listener', ids] });
    },
  });
  const form = forms?.schemas[listener.listenerType];
  const faults = faultsIn('listenerConfig', save.error);
  if (error) return <Problem error={error} />;
  if (!forms) return <Skeleton h={160} />;
  return (
    <div className="split">
      <Paper withBorder p="md" component="section" aria-label="Configuration">
        <Stack gap="sm">
          {form ? (
            <SchemaForm form={form} value={config} faults={faults} onChange={setConfig} />
          ) : (
            <JSONView value={config} label="Configuration" />
          )}
          {save.error && <Problem error={save.error} />}
          <May permission="listener.update" on={`listener:${ids.listenerID}`}>
            <div>
              <Button disabled={!isDirty} loading={save.isPending} onClick={() => save.mutate()}>
                Save
              </Button>
            </div>
          </May>
        </Stack>
      </Paper>
      <Paper withBorder p="md" component="section" aria-label="Actions">
        <Text component="h2" fw={600} size="sm" mb="xs">
          Actions, in their order
        </Text>
        <Actions ids={ids} listener={listener} forms={forms.actions} />
      </Paper>
    </div>
  );
}
