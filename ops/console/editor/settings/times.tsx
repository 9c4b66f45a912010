import { Stack } from '@mantine/core';
import { DurationInput } from '../../ui/duration-input.tsx';
import { faultOf, type OptionProps } from './option.ts';

/** Limits of time: of a run, of its beginning, of questions and of single steps. */
export function Times({ options, onSet, faults, disabled }: OptionProps) {
  const field = (option: string) => ({
    disabled,
    value: options[option],
    error: faultOf(faults, option),
    onChange: (value: unknown) => onSet({ [option]: value }),
  });
  return (
    <Stack gap="sm">
      <DurationInput
        label="A run ends after"
        description="It fails then, wherever it is; waits count. Empty: 7 days"
        hint="7 days"
        {...field('workflowRunTimeout')}
      />
      <DurationInput
        label="A run begins within"
        description="It fails if it has waited longer than that for its beginning. Empty: it may wait as long as it may run"
        unit="minutes"
        {...field('queueTimeout')}
      />
      <DurationInput
        label="A question waits for its answer"
        description="Approvals and forms without a time of their own have expired then. Empty: 1 hour"
        hint="1 hour"
        {...field('humanInLoopTimeout')}
      />
      <DurationInput
        label="An attempt of a step takes at most"
        description="It is stopped then, and has failed. Steps that wait have no such limit. Empty: 30 seconds to 2 minutes, by the kind of the step"
        inSeconds
        {...field('defaultNodeTimeoutSeconds')}
      />
    </Stack>
  );
}
