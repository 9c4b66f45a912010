import { Checkbox, Fieldset, Group, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { expressionOf } from '../../inputs/definition.ts';
import { runClasses } from '../../run/classes.ts';
import { declaredInputs } from '../../ui/declared.ts';
import { DurationInput } from '../../ui/duration-input.tsx';
import { isObject } from '../../ui/is-object.ts';
import { TakesValues } from '../../values/takes-values.tsx';
import type { Config } from '../draft.ts';
import { faultOf, type OptionProps } from './option.ts';

const periods = ['second', 'minute', 'hour', 'day'].map((value) => ({
  value,
  label: `a ${value}`.replace('a h', 'an h'),
}));

const onLimit = [
  { value: 'queue', label: 'It waits until one of them has ended' },
  { value: 'drop', label: 'It is not run: it ends as cancelled' },
  { value: 'fail', label: 'It fails' },
  { value: 'cancel-old', label: 'The oldest of them is cancelled, and it begins' },
];

const scopes = [
  { value: 'workflow', label: 'Runs of this workflow' },
  { value: 'tenant', label: 'Runs of all workflows with the same key' },
];

/** When a run of the workflow may begin. */
export function Beginning({ options, onSet, faults, disabled }: OptionProps) {
  const { maxRunsAtOnce, rate, priority } = options;
  const { limit, per = 'minute' } = isObject(rate) ? rate : {};
  return (
    <Stack gap="sm">
      <WholeNumber
        label="Runs at once"
        description="Further ones wait; a run that only waits itself does not count. Empty: as many as the tenant may have"
        disabled={disabled}
        value={maxRunsAtOnce}
        error={faultOf(faults, 'maxRunsAtOnce')}
        onChange={(value) => onSet({ maxRunsAtOnce: value })}
      />
      <Group gap="xs" align="end" grow preventGrowOverflow={false}>
        <WholeNumber
          label="Runs that begin, at most"
          description="Further ones wait. Empty: no limit"
          disabled={disabled}
          value={limit}
          error={faultOf(faults, 'rate')}
          onChange={(value) => onSet({ rate: value === undefined ? undefined : { limit: value, per } })}
        />
        <Select
          aria-label="In which time they begin"
          disabled={disabled || limit === undefined}
          allowDeselect={false}
          data={periods}
          value={String(per)}
          onChange={(next) => onSet({ rate: { limit, per: next } })}
        />
      </Group>
      <Concurrency {...{ options, onSet, faults, disabled }} />
      <Select
        label="Class"
        description="While runs of the workflow wait: 8 interactive ones begin for 4, 2 and 1 of the other classes. Empty: by what starts the run"
        disabled={disabled}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear Class' }}
        data={runClasses}
        value={typeof options.class === 'string' ? options.class : null}
        error={faultOf(faults, 'class')}
        onChange={(next) => onSet({ class: next ?? undefined })}
      />
      <DurationInput
        label="Head start"
        description="How much earlier its runs count as accepted, against other runs of the workflow and class. Empty: none"
        inSeconds
        disabled={disabled}
        value={priority}
        error={faultOf(faults, 'priority')}
        onChange={(value) => onSet({ priority: value })}
      />
    </Stack>
  );
}

function Concurrency({ options, onSet, faults, disabled }: OptionProps) {
  const { concurrency, inputDefinitions } = options;
  const isOn = isObject(concurrency);
  const { key = '', limit = 1, onLimit: chosen = 'queue', scope = 'workflow' } = isOn ? concurrency : {};
  const set = (change: Config) => onSet({ concurrency: { ...(isOn && concurrency), ...change } });
  const [first] = declaredInputs(inputDefinitions);
  return (
    <>
      <Checkbox
        label="Limit runs with the same key"
        description="Such as one run at once for each customer"
        disabled={disabled}
        checked={isOn}
        onChange={({ currentTarget: { checked } }) =>
          onSet({
            concurrency: checked
              ? { key: first ? expressionOf(first.key) : '', limit: 1, onLimit: 'queue', scope: 'workflow' }
              : undefined,
          })
        }
      />
      {isOn && (
        <Fieldset legend="Runs with the same key" p="xs">
          <Stack gap="sm">
            <TakesValues label="Key" value={key} disabled={disabled}>
              <TextInput
                label="Key"
                description="A text with inputs of the run; runs for which it is the same count together"
                placeholder="{{ctx.input.customer}}"
                required
                disabled={disabled}
                value={String(key)}
                error={faultOf(faults, 'concurrency.key') ?? faults.get('concurrency')}
                onChange={({ currentTarget }) => set({ key: currentTarget.value })}
              />
            </TakesValues>
            <WholeNumber
              label="At once"
              description="From their beginning to their end, waits included"
              disabled={disabled}
              value={limit}
              error={faultOf(faults, 'concurrency.limit')}
              onChange={(value) => set({ limit: value })}
            />
            <Select
              label="A further run"
              disabled={disabled}
              allowDeselect={false}
              data={onLimit}
              value={String(chosen)}
              error={faultOf(faults, 'concurrency.onLimit')}
              onChange={(next) => set({ onLimit: next })}
            />
            <Select
              label="Counted are"
              disabled={disabled}
              allowDeselect={false}
              data={scopes}
              value={String(scope)}
              error={faultOf(faults, 'concurrency.scope')}
              onChange={(next) => set({ scope: next })}
            />
          </Stack>
        </Fieldset>
      )}
    </>
  );
}

interface NumberProps {
  label: string;
  description: string;
  disabled: boolean;
  value: unknown;
  error: string | undefined;
  onChange: (value: unknown) => void;
}

/** A text that is no number goes to the API, which refuses it. */
export function WholeNumber({ value, onChange, ...field }: NumberProps) {
  return (
    <NumberInput
      {...field}
      hideControls
      value={typeof value === 'number' || typeof value === 'string' ? value : ''}
      onChange={(next) => onChange(next === '' ? undefined : next)}
    />
  );
}
