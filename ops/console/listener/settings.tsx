import { Button, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { useState } from 'react';
import { type ListenerPlace, listenerFormsRead, saveListener } from '../client/listeners.ts';
import { APIError } from '../client/rest.ts';
import type { Schemas } from '../client/types.ts';
import { JSONView } from '../ui/json.tsx';
import { May } from '../ui/may.tsx';
import { Problem } from '../ui/problem.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import type { Layout, Schema } from '../ui/schema-parts.ts';

interface Props {
  place: ListenerPlace;
  listener: Schemas['Listener'];
}

/** The configuration as the API describes it, and the actions as they are. */
export function Settings({ place, listener }: Props) {
  const { data: forms, error } = useQuery(listenerFormsRead(place.tenantID));
  const queries = useQueryClient();
  const [saved, setSaved] = useState<Readonly<Record<string, unknown>>>(listener.listenerConfig);
  const [config, setConfig] = useState(saved);
  const isDirty = config !== saved;
  useBlocker({
    shouldBlockFn: () => isDirty && !window.confirm('Leave without saving the changes?'),
    enableBeforeUnload: isDirty,
  });
  const save = useMutation({
    mutationFn: async () => {
      await saveListener(place, config);
      return config;
    },
    onSuccess: async (sent) => {
      setSaved(sent);
      await queries.invalidateQueries({ queryKey: ['listener', place] });
    },
  });
  const form = forms?.[listener.listenerType];
  const faults = new Map(
    (save.error instanceof APIError ? save.error.issues : []).map(({ path, message }) => [
      path.slice(path[0] === 'listenerConfig' ? 1 : 0).join('.'),
      message,
    ]),
  );
  if (error) return <Problem error={error} />;
  if (!forms) return <Skeleton h={160} />;
  return (
    <div className="split">
      <Paper withBorder p="md" component="section" aria-label="Configuration">
        <Stack gap="sm">
          {form ? (
            <SchemaForm
              schema={form.schema as Schema}
              uischema={form.uischema as unknown as Layout}
              value={config}
              faults={faults}
              onChange={setConfig}
            />
          ) : (
            <JSONView value={config} label="Configuration" />
          )}
          {save.error && <Problem error={save.error} />}
          <May permission="listener.update" on={`listener:${place.listenerID}`}>
            <Button disabled={!isDirty} loading={save.isPending} onClick={() => save.mutate()}>
              Save
            </Button>
          </May>
        </Stack>
      </Paper>
      <Paper withBorder p="md" component="section" aria-label="Actions">
        <Text component="h2" fw={600} size="sm" mb="xs">
          Actions, in their order
        </Text>
        {listener.actions.length === 0 && <Text size="sm">None: events are recorded only.</Text>}
        <Stack gap="xs">
          {listener.actions.map(({ actionID, actionType, actionConfig, isEnabled }) => (
            <div key={actionID}>
              <Text size="sm">
                {actionType}
                {!isEnabled && ', off'}
              </Text>
              <JSONView value={actionConfig} label={`Settings of ${actionType}`} />
            </div>
          ))}
        </Stack>
      </Paper>
    </div>
  );
}
