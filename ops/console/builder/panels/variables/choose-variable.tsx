import { Autocomplete } from '@mantine/core';
import { addVariable, variablesOf } from '../config.ts';
import type { PanelProps } from '../panel.ts';

interface Props extends Pick<PanelProps, 'document' | 'edit'> {
  value: unknown;
  onChange: (key: string) => void;
}

/** A variable of the page by its name; a name that is new becomes a variable once the field is left. */
export function ChooseVariable({ document, edit, value, onChange }: Props) {
  const known = variablesOf(document.config).map(({ key }) => key);
  const key = typeof value === 'string' ? value : '';
  const isNew = key !== '' && !known.includes(key);
  return (
    <Autocomplete
      label="Variable"
      description={isNew ? 'A new variable of the page' : 'One of the page, or a new name'}
      required
      data={known}
      value={key}
      onChange={onChange}
      onBlur={() => isNew && edit((old) => addVariable(old, { key }))}
    />
  );
}
