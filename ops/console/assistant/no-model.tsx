import { Button, Group, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { administratorsRead } from '../client/administrators.ts';
import { useMay } from '../client/may.ts';
import { saveAIConfig, testAIConfig } from '../client/settings.ts';
import { type ModelPreset, modelPresets } from '../settings/ai-presets.ts';
import { faultsOf } from '../ui/faults.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { wordsOfFailure } from './use-chat.ts';

/** Without a language model: how to get one, or whom to ask. */
export function NoModel({ tenantID }: { tenantID: string }) {
  const may = useMay();
  const read = useQuery({ ...administratorsRead(tenantID), enabled: may('user.list') });
  const known = read.data ?? [];
  return (
    <Stack gap="sm">
      <Text size="sm">
        The assistant answers questions about what is open here, proposes changes of workflows, writes queries and
        explains failed runs. It needs a language model, and none is set for this tenant or this deployment.
      </Text>
      {may('tenant.update') ? (
        <ModelForm tenantID={tenantID} />
      ) : (
        <Notice tone="idle" title="Whom to ask">
          {known.length > 0 ? known.join(' or ') : 'An administrator of this tenant'} can set one, in Settings under AI.
        </Notice>
      )}
    </Stack>
  );
}

type Fields = Pick<ModelPreset, 'provider' | 'model' | 'baseURL'> & { apiKey: string };

function ModelForm({ tenantID }: { tenantID: string }) {
  const queries = useQueryClient();
  const [preset, setPreset] = useState(modelPresets[0] as ModelPreset);
  const [fields, setFields] = useState<Fields>(fieldsOf(preset));
  const config = {
    ...{ provider: fields.provider, model: fields.model.trim(), baseURL: fields.baseURL?.trim() || null },
    ...(fields.apiKey.trim() !== '' && { apiKey: fields.apiKey.trim() }),
  };
  const test = useMutation({ mutationFn: () => testAIConfig(tenantID, config) });
  const save = useMutation({
    mutationFn: () => saveAIConfig(tenantID, config),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['settings', tenantID, 'ai'] });
      await queries.invalidateQueries({ queryKey: ['chats', tenantID] });
    },
  });
  const faults = faultsOf(save.error ?? test.error);
  const set = (change: Partial<Fields>) => {
    test.reset();
    save.reset();
    setFields({ ...fields, ...change });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Stack gap="sm">
        <Select
          label="Language model of"
          data={modelPresets.map(({ id, label }) => ({ value: id, label }))}
          value={preset.id}
          allowDeselect={false}
          onChange={(id) => {
            const chosen = modelPresets.find((one) => one.id === id) ?? preset;
            setPreset(chosen);
            set(fieldsOf(chosen));
          }}
        />
        <Text size="sm">{preset.hint}</Text>
        <TextInput
          label="Model"
          required
          value={fields.model}
          error={faults.get('model')}
          onChange={({ currentTarget: { value } }) => set({ model: value })}
        />
        {fields.baseURL !== null && (
          <TextInput
            label="Address"
            required
            description="As the workers of this deployment reach it"
            value={fields.baseURL}
            error={faults.get('baseURL')}
            onChange={({ currentTarget: { value } }) => set({ baseURL: value })}
          />
        )}
        <PasswordInput
          label="Key"
          required={preset.needsKey}
          description="Stored encrypted and not shown again"
          autoComplete="off"
          visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
          value={fields.apiKey}
          error={faults.get('apiKey')}
          onChange={({ currentTarget: { value } }) => set({ apiKey: value })}
        />
        {test.error && faults.size === 0 && (
          <Notice tone="bad" role="alert" title="The model does not answer">
            {wordsOfFailure(test.error)}
          </Notice>
        )}
        {test.data && (
          <Notice tone="ok" role="status" title="The model answers">
            {test.data.model}
          </Notice>
        )}
        <Button
          size="xs"
          variant="subtle"
          renderRoot={(props) => <Link {...props} to="/t/$tenantID/settings/ai" params={{ tenantID }} />}
        >
          All settings of AI, with budgets
        </Button>
        {save.error && faults.size === 0 && <Problem error={save.error} />}
        <Group gap="xs">
          <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Test the model
          </Button>
          <Button size="xs" type="submit" loading={save.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function fieldsOf({ provider, model, baseURL }: ModelPreset): Fields {
  return { provider, model, baseURL, apiKey: '' };
}
