import { Select } from '@mantine/core';
import { faultOf, type OptionProps } from './option.ts';

const ways = [
  { value: 'effect', label: 'With each step that has an effect' },
  { value: 'node', label: 'With every step' },
];

/** How often the state of a run is saved. */
export function Saving({ options, onSet, faults, disabled }: OptionProps) {
  return (
    <Select
      label="The state of a run is saved"
      description="After a crash it goes on from there. Steps that only compute would be computed again, with the same result; saving every one is slower"
      disabled={disabled}
      allowDeselect={false}
      data={ways}
      value={typeof options.durability === 'string' ? options.durability : 'effect'}
      error={faultOf(faults, 'durability')}
      onChange={(next) => onSet({ durability: next })}
    />
  );
}
