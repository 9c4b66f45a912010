import { MultiSelect, type MultiSelectProps } from '@mantine/core';

/** For texts alone, as a component that is loaded later has no type parameters. */
export function MultiSelectPart(props: MultiSelectProps) {
  return <MultiSelect {...props} />;
}
