import { Button, Group, Select } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { tableNamesRead, tablesRead } from '../client/database.ts';
import { useMay } from '../client/may.ts';
import { Problem } from '../ui/problem.tsx';
import { type Action, actions, writtenSQL } from './written-sql.ts';

interface Props {
  tenantID: string;
  onText: (sql: string) => void;
}

const choices = Object.entries(actions).map(([value, label]) => ({ value, label }));

/** Writes the SQL that reads or changes rows of a table of the tenant's own database. */
export function FromTable({ tenantID, onText }: Props) {
  const queries = useQueryClient();
  const may = useMay();
  const isAllowed = may('database.metadata');
  const { data: names } = useQuery({ ...tableNamesRead(tenantID), enabled: isAllowed });
  const [table, setTable] = useState<string | null>(null);
  const [action, setAction] = useState<Action>('read');
  const write = useMutation({
    mutationFn: async () => {
      const [schema = '', name = ''] = JSON.parse(table ?? '[]') as string[];
      const tables = await queries.fetchQuery(tablesRead({ tenantID, databaseSchemaName: schema }));
      const found = tables.find(({ databaseTableName }) => databaseTableName === name);
      if (!found) throw new Error('The table is no longer there.');
      onText(writtenSQL(action, found));
    },
  });
  const tables = Object.entries(names ?? {}).flatMap(([schema, own]) =>
    Object.entries(own)
      // A view has no columns here, and no rows that can be changed.
      .filter(([, columns]) => columns.length > 0)
      .map(([name]) => ({
        value: JSON.stringify([schema, name]),
        label: schema === 'public' ? name : `${schema}.${name}`,
      })),
  );
  if (!isAllowed || tables.length === 0) return null;
  return (
    <>
      <Group gap="xs" align="end">
        <Select
          label="Begin with a table"
          placeholder="Choose a table"
          searchable
          flex={1}
          data={tables}
          value={table}
          onChange={setTable}
        />
        <Select
          aria-label="What is done with it"
          w={150}
          allowDeselect={false}
          data={choices}
          value={action}
          onChange={(next) => next && setAction(next as Action)}
        />
        <Button variant="default" disabled={table === null} loading={write.isPending} onClick={() => write.mutate()}>
          Write the SQL
        </Button>
      </Group>
      {write.error && <Problem error={write.error} />}
    </>
  );
}
