import { Button } from '@mantine/core';
import { useMemo } from 'react';
import type { FillProps } from './context.ts';
import { expressionsByName } from './fill-by-name.ts';

/** Fills the inputs that are empty with the values of the same names, where there are any. */
export function FillButton({ values, inputs, value, onChange }: FillProps) {
  const found = useMemo(() => {
    const empty = inputs.flatMap(({ key }) => (value[key] === undefined ? [key] : []));
    return expressionsByName(values, empty);
  }, [values, inputs, value]);
  const names = Object.keys(found);
  if (names.length === 0) return null;
  return (
    <Button
      size="compact-sm"
      variant="default"
      title={names.map((name) => `${name}: ${found[name]}`).join('\n')}
      onClick={() => onChange({ ...value, ...found })}
      style={{ alignSelf: 'flex-start' }}
    >
      Fill by name ({names.length})
    </Button>
  );
}
