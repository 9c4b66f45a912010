import { ActionIcon, Fieldset, Group, Select, Stack, Text } from '@mantine/core';
import { type Kinds, wordsOf } from '../../graph/kinds.ts';
import { DurationInput } from '../../ui/duration-input.tsx';
import { Icon } from '../../ui/icon.tsx';
import { isObject } from '../../ui/is-object.ts';
import { MultiSelect } from '../../ui/multi-select.tsx';
import { Picker } from '../../ui/picker.tsx';
import { propertiesOf } from '../../ui/schema-shape.ts';
import type { Config } from '../draft.ts';
import { WholeNumber } from './begin.tsx';
import { faultOf, type OptionProps } from './option.ts';

const errors = [
  { value: 'timeout', label: 'It took too long' },
  { value: 'upstream', label: 'Another system failed, or could not be reached' },
  { value: 'code', label: 'The step itself failed' },
];

interface PolicyProps {
  /** Names of the fields. */
  names: { limit: string; delay: string; errors: string };
  config: Config;
  onSet: (change: Config) => void;
  faultOf: (field: string) => string | undefined;
  disabled: boolean;
}

function Retries({ names, config, onSet, faultOf: fault, disabled }: PolicyProps) {
  const on = config[names.errors];
  return (
    <>
      <WholeNumber
        label="Retries"
        description="How often a failed attempt is repeated, if its error may be temporary: 0 to 10. Empty: not at all"
        disabled={disabled}
        value={config[names.limit]}
        error={fault(names.limit)}
        onChange={(value) => onSet({ [names.limit]: value })}
      />
      <DurationInput
        label="Pause before a retry"
        description="It doubles with every failed attempt, up to five minutes. Empty: 5 seconds"
        hint="5 seconds"
        inSeconds
        disabled={disabled}
        value={config[names.delay]}
        error={fault(names.delay)}
        onChange={(value) => onSet({ [names.delay]: value })}
      />
      <MultiSelect
        label="Errors to retry"
        description="Empty: all that may be temporary"
        disabled={disabled}
        data={errors}
        value={Array.isArray(on) ? on.map(String) : []}
        error={fault(names.errors)}
        onChange={(next) => onSet({ [names.errors]: next.length > 0 ? next : undefined })}
      />
    </>
  );
}

const ofAll = { limit: 'defaultRetryLimit', delay: 'defaultRetryDelaySeconds', errors: 'defaultRetryOn' };
const ofKind = { limit: 'retryLimit', delay: 'retryDelaySeconds', errors: 'retryOn' };

/** The settings for steps and runs that fail. */
export function Failures({ kinds, ...props }: OptionProps & { kinds: Kinds }) {
  const { options, onSet, faults, disabled } = props;
  const { onFailure } = options;
  const workflowID = isObject(onFailure) ? onFailure.workflowID : undefined;
  return (
    <Stack gap="sm">
      <Picker
        types={['workflow']}
        label="After a failed run, start"
        description="It gets the error: inputs instanceID, workflowID, error, and input, which is what the failed run was given"
        disabled={disabled}
        value={typeof workflowID === 'string' ? workflowID : undefined}
        error={faultOf(faults, 'onFailure')}
        onChange={(id) => onSet({ onFailure: id === undefined ? undefined : { workflowID: id } })}
      />
      <Text size="sm">For steps that say nothing else:</Text>
      <Retries
        names={ofAll}
        config={options}
        onSet={onSet}
        faultOf={(field) => faultOf(faults, field)}
        disabled={disabled}
      />
      <OfKinds {...props} kinds={kinds} />
    </Stack>
  );
}

/** Time limit and retries of all steps of a kind. */
function OfKinds({ kinds, options, onSet, faults, disabled }: OptionProps & { kinds: Kinds }) {
  const all = isObject(options.nodeDefaults) ? options.nodeDefaults : {};
  const put = (next: Config) => onSet({ nodeDefaults: next });
  const word = (kind: string) => wordsOf(kind, kinds[kind]).word;
  const others = Object.entries(kinds)
    .filter(([kind, { schema }]) => !Object.hasOwn(all, kind) && propertiesOf(schema).retryLimit !== undefined)
    .map(([kind]) => ({ value: kind, label: word(kind) }));
  return (
    <>
      {Object.entries(all).map(([kind, given]) => {
        const config = isObject(given) ? given : {};
        const set = (change: Config) =>
          put({
            ...all,
            [kind]: Object.fromEntries(
              Object.entries({ ...config, ...change }).filter(([, value]) => value !== undefined),
            ),
          });
        const fault = (field: string) => faultOf(faults, `nodeDefaults.${kind}.${field}`);
        return (
          <Fieldset key={kind} legend={`Steps of the kind ${word(kind)}`} p="xs">
            <Stack gap="sm">
              <DurationInput
                label="An attempt takes at most"
                description="Empty: as all steps of the workflow"
                inSeconds
                disabled={disabled}
                value={config.timeoutSeconds}
                error={fault('timeoutSeconds')}
                onChange={(value) => set({ timeoutSeconds: value })}
              />
              <Retries names={ofKind} config={config} onSet={set} faultOf={fault} disabled={disabled} />
              {!disabled && (
                <Group justify="flex-end">
                  <ActionIcon
                    variant="default"
                    aria-label={`Remove the settings of ${word(kind)}`}
                    onClick={() => put(Object.fromEntries(Object.entries(all).filter(([name]) => name !== kind)))}
                  >
                    <Icon name="cross" size={12} />
                  </ActionIcon>
                </Group>
              )}
            </Stack>
          </Fieldset>
        );
      })}
      {!disabled && (
        <Select
          label="Other limits for one kind of step"
          placeholder="Choose a kind"
          searchable
          data={others}
          value={null}
          onChange={(kind) => kind && put({ ...all, [kind]: {} })}
        />
      )}
    </>
  );
}
