import { Autocomplete, Checkbox, Fieldset, Group, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMay } from '../../client/may.ts';
import type { RunStatus } from '../../client/types.ts';
import { knownVariablesRead } from '../../client/variables.ts';
import { useTenantID } from '../../ui/asset-title.tsx';
import { isObject } from '../../ui/is-object.ts';
import { wordOf } from '../../ui/status.tsx';
import type { Config } from '../draft.ts';
import { faultOf, type OptionProps } from './option.ts';

const ENDS = ['COMPLETED', 'FAILED', 'CANCELLED'] as const satisfies readonly RunStatus[];

/** The receiver that is told when a run has ended. */
export function Completion({ options, onSet, faults, disabled }: OptionProps) {
  const tenantID = useTenantID();
  const may = useMay();
  const known = useQuery({ ...knownVariablesRead(tenantID), enabled: may('variable.list') }).data?.variables ?? [];
  const { completionWebhook } = options;
  const isOn = isObject(completionWebhook);
  const { url = '', secret = '', on, includeOutput } = isOn ? completionWebhook : {};
  const set = (change: Config) => onSet({ completionWebhook: { ...(isOn && completionWebhook), ...change } });
  const fault = (field: string) => faultOf(faults, `completionWebhook.${field}`);
  return (
    <>
      <Checkbox
        label="Tell a receiver"
        description="Another system is told when a run has ended"
        disabled={disabled}
        checked={isOn}
        onChange={({ currentTarget: { checked } }) =>
          onSet({ completionWebhook: checked ? { url: '', secret: '' } : undefined })
        }
      />
      {isOn && (
        <Fieldset legend="Receiver" p="xs" mt="xs">
          <Stack gap="sm">
            <TextInput
              label="Address"
              description="It receives a signed POST, and again until it answers with 2xx"
              placeholder="https://"
              required
              disabled={disabled}
              value={String(url)}
              error={fault('url')}
              onChange={({ currentTarget }) => set({ url: currentTarget.value })}
            />
            <Autocomplete
              label="Secret"
              description="The name of a secret variable: whsec_ and 24 to 64 bytes in base64"
              required
              disabled={disabled}
              data={known.filter(({ isSecret }) => isSecret).map(({ name }) => name)}
              value={String(secret)}
              error={fault('secret')}
              onChange={(name) => set({ secret: name })}
            />
            <Checkbox.Group
              label="Ends that are told"
              disabled={disabled}
              value={Array.isArray(on) ? on.map(String) : [...ENDS]}
              error={fault('on')}
              onChange={(ends) => set({ on: ENDS.filter((end) => ends.includes(end)) })}
            >
              <Group mt={4}>
                {ENDS.map((end) => (
                  <Checkbox key={end} value={end} label={wordOf(end)} />
                ))}
              </Group>
            </Checkbox.Group>
            <Checkbox
              label="With the output of the run"
              description="Up to 64 kB"
              disabled={disabled}
              checked={includeOutput !== false}
              onChange={({ currentTarget }) => set({ includeOutput: currentTarget.checked })}
            />
          </Stack>
        </Fieldset>
      )}
    </>
  );
}
