import { Button, Group, Select, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type FormEvent, useState } from 'react';
import type { DatabaseTable } from '../client/database.ts';

const operators = ['=', '!=', '<', '<=', '>', '>='];

/** One condition on rows; folded on a narrow page until it is wanted. */
export function RowFilter({
  table,
  q,
  onSet,
}: {
  table: DatabaseTable;
  q: string | undefined;
  onSet: (q: string | undefined) => void;
}) {
  const before = readFilter(q);
  const [column, setColumn] = useState<string | null>(before?.column ?? null);
  const [operator, setOperator] = useState(before?.operator ?? '=');
  const [value, setValue] = useState(before?.value ?? '');
  const isNarrow = useMediaQuery('(max-width: 40em)', undefined, { getInitialValueInEffect: false });
  const [isOpen, setOpen] = useState(before !== undefined);
  const apply = (event: FormEvent) => {
    event.preventDefault();
    onSet(column === null ? undefined : JSON.stringify({ [column]: { [operator]: value } }));
  };
  if (isNarrow && !isOpen)
    return (
      <Button size="xs" variant="default" mb="sm" onClick={() => setOpen(true)}>
        Filter rows
      </Button>
    );
  return (
    <search aria-label="Filter rows">
      <form onSubmit={apply}>
        <Group align="end" gap="xs" mb="sm">
          <Select
            label="Column"
            size="xs"
            placeholder="Any"
            clearable
            clearButtonProps={{ 'aria-label': 'Any column' }}
            data={table.databaseTableColumns.map(({ databaseTableColumnName }) => databaseTableColumnName)}
            value={column}
            onChange={setColumn}
          />
          <Select
            label="Is"
            size="xs"
            w={80}
            data={operators}
            value={operator}
            allowDeselect={false}
            onChange={(next) => setOperator(next ?? '=')}
          />
          <TextInput
            label="Value"
            size="xs"
            value={value}
            onChange={({ currentTarget: { value: next } }) => setValue(next)}
          />
          <Button size="xs" variant="default" type="submit">
            Filter
          </Button>
        </Group>
      </form>
    </search>
  );
}

function readFilter(q: string | undefined): { column: string; operator: string; value: string } | undefined {
  try {
    const [[column, condition] = []] = Object.entries(JSON.parse(q ?? '{}') as Record<string, Record<string, unknown>>);
    const [[operator, value] = []] = Object.entries(condition ?? {});
    return column && operator ? { column, operator, value: String(value) } : undefined;
  } catch {
    return undefined;
  }
}
