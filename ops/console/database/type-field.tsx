import { Autocomplete, Text } from '@mantine/core';

/** Types of PostgreSQL that most columns have, in words. Any other can be typed. */
const types: Readonly<Record<string, string>> = {
  text: 'words of any length',
  bigint: 'a whole number',
  bigserial: 'a whole number that the database counts',
  numeric: 'an exact number, such as an amount',
  'double precision': 'a number that is measured',
  boolean: 'true or false',
  date: 'a day',
  timestamptz: 'a moment, with its time zone',
  time: 'a time of day',
  uuid: 'an id',
  jsonb: 'JSON',
  'text[]': 'a list of words',
  bytea: 'bytes',
};

interface Props {
  /** Its place, from 1. */
  column: number;
  value: string;
  onChange: (type: string) => void;
}

/** The type of a column, by a list. */
export function TypeField({ column, value, onChange }: Props) {
  return (
    <Autocomplete
      label="Type"
      aria-label={`Type of column ${column}`}
      comboboxProps={{ width: 300, position: 'bottom-start' }}
      data={Object.keys(types)}
      value={value}
      // All types, also while one stands in the field.
      filter={({ options, search }) => (types[search] ? options : options.filter((one) => fits(one, search)))}
      renderOption={({ option }) => (
        <span>
          {option.value}
          <Text component="span" size="xs" c="dimmed">
            {' '}
            {types[option.value]}
          </Text>
        </span>
      )}
      onChange={onChange}
    />
  );
}

function fits(option: object, search: string): boolean {
  const name = 'value' in option ? String(option.value) : '';
  return `${name} ${types[name] ?? ''}`.includes(search.trim().toLowerCase());
}
