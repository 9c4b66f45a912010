import { Button, Group, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { type AIConfig, deleteAIConfig, saveAIConfig, testAIConfig } from '../client/settings.ts';
import type { Schemas } from '../client/types.ts';
import { Confirm } from '../ui/confirm.tsx';
import { countOf } from '../ui/count.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { modelPresets } from './ai-presets.ts';
import { useSettings } from './draft.ts';
import { LimitInput, Section, SettingsForm } from './form.tsx';

const sources: Record<AIConfig['source'], string> = {
  tenant: 'The model is the tenant’s own.',
  workspace: 'The model is that of the deployment.',
  none: 'No model is set, neither here nor for the deployment.',
};

const providers: Record<NonNullable<AIConfig['provider']>, string> = {
  openai: 'OpenAI',
  openrouter: 'OpenRouter',
  'openai-compatible': 'OpenAI-compatible server',
  anthropic: 'Anthropic',
  google: 'Google',
};

type Draft = Required<Schemas['AIConfigChange']>;

/** The provider of the deployment is not the tenant's. */
function draftOf({ source, provider, baseURL, model, apiKey, ...budgets }: AIConfig): Draft {
  const { maxTokensPerDay, maxTokensPerMonth, maxCalls } = budgets;
  const own = source === 'tenant' ? { provider, baseURL, model, apiKey } : NO_MODEL;
  return { ...own, maxTokensPerDay, maxTokensPerMonth, maxCalls };
}

const NO_MODEL = { provider: null, baseURL: null, model: null, apiKey: null };

interface Props {
  tenantID: string;
  config: AIConfig;
  onDeleted: () => void;
}

/** The language model of a tenant and its budgets, with a test of it. */
export function ModelForm({ tenantID, config, onDeleted }: Props) {
  const mayChange = useMay()('tenant.update');
  const queries = useQueryClient();
  const queryKey = ['settings', tenantID, 'ai'];
  const [isDeleting, deleting] = useDisclosure(false);
  const [hint, setHint] = useState<string>();
  const saved = draftOf(config);
  const { draft, set, ...form } = useSettings({
    ...{ saved, queryKey },
    send: async (change) => draftOf(await saveAIConfig(tenantID, changed(saved, change))),
  });
  const test = useMutation({
    mutationFn() {
      const { provider, baseURL, model, apiKey } = changed(saved, draft);
      const given = Object.entries({ provider, baseURL, model, apiKey }).filter(([, value]) => value !== undefined);
      return testAIConfig(tenantID, Object.fromEntries(given));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['settings', tenantID, 'ai-usage'] }),
  });
  const text = (name: 'model' | 'baseURL' | 'apiKey') => ({
    value: draft[name] ?? '',
    error: form.faults.get(name),
    readOnly: !mayChange,
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => {
      test.reset();
      set({ [name]: value === '' ? null : value });
    },
  });
  const count = (name: 'maxTokensPerDay' | 'maxTokensPerMonth' | 'maxCalls') => ({
    value: draft[name],
    error: form.faults.get(name),
    readOnly: !mayChange,
    onChange: (value: number | null) => set({ [name]: value }),
  });
  return (
    <Stack>
      <SettingsForm title="Model" mayChange={mayChange} {...form}>
        <Text size="sm">{sources[config.source]}</Text>
        {mayChange && (
          <Select
            label="Fill in for"
            description={hint}
            placeholder="A known provider, or a server on this machine"
            data={modelPresets.map(({ id, label }) => ({ value: id, label }))}
            value={null}
            onChange={(id) => {
              const preset = modelPresets.find((one) => one.id === id);
              if (!preset) return;
              const { provider, model, baseURL } = preset;
              test.reset();
              setHint(preset.hint);
              set({ provider, model: model || null, baseURL: baseURL || null });
            }}
          />
        )}
        <Select
          label="Provider"
          placeholder="That of the deployment"
          clearable
          clearButtonProps={{ 'aria-label': 'That of the deployment' }}
          data={Object.entries(providers).map(([value, label]) => ({ value, label }))}
          value={draft.provider}
          readOnly={!mayChange}
          error={form.faults.get('provider')}
          onChange={(provider) => set({ provider: provider as Draft['provider'] })}
        />
        <TextInput label="Model" {...text('model')} />
        <TextInput label="Address" description="Empty: the provider’s own" {...text('baseURL')} />
        <PasswordInput
          label="Key"
          description="Stored encrypted and not shown again"
          autoComplete="off"
          visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
          {...text('apiKey')}
        />
        <LimitInput label="Tokens a day" description="Empty: as the quota" {...count('maxTokensPerDay')} />
        <LimitInput label="Tokens a month" description="Empty: as the quota" {...count('maxTokensPerMonth')} />
        <LimitInput label="Calls at once" description="Empty: as the quota" {...count('maxCalls')} />
      </SettingsForm>
      {mayChange && (
        <Section title="Test">
          <Stack gap="sm">
            <Text size="sm">The model is asked for one word, with what is entered above. The tokens are counted.</Text>
            {test.error && <Problem error={test.error} />}
            {test.data && (
              <Notice tone="ok" role="status" title={test.data.model}>
                <bdi>{test.data.message}</bdi>, {countOf(test.data.inputTokens + test.data.outputTokens, 'token')}
              </Notice>
            )}
            <Group>
              <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
                Test the model
              </Button>
              {config.updatedAt !== null && (
                <Button variant="default" onClick={deleting.open}>
                  Delete the settings
                </Button>
              )}
            </Group>
          </Stack>
        </Section>
      )}
      {isDeleting && (
        <Confirm
          title="Delete the AI settings"
          question="Model, key and budgets of the tenant are deleted. The model of the deployment is used then, if it has one."
          verb="Delete"
          onConfirm={async () => {
            await deleteAIConfig(tenantID);
            await queries.invalidateQueries({ queryKey });
            onDeleted();
          }}
          onClose={deleting.close}
        />
      )}
    </Stack>
  );
}

/** Fields that stay as they are are left out: the key is only known by its mask. */
function changed(saved: Draft, draft: Draft): Schemas['AIConfigChange'] {
  const entries = Object.entries(draft).filter(([name, value]) => value !== saved[name as keyof Draft]);
  return Object.fromEntries(entries);
}
