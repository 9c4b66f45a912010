import { Button, Group, Select } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { tableNamesRead, tablesRead } from '../client/database.ts';
import { useMay } from '../client/may.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Problem } from '../ui/problem.tsx';
import { type Action, actions, writtenSQL } from './written-sql.ts';

interface Props {
  tenantID: string;
  /** The text that is in the form, and that with which it begins. */
  text: string;
  initial: string;
  onText: (sql: string) => void;
}

const choices = Object.entries(actions).map(([value, label]) => ({ value, label }));

/** Writes the SQL that reads or changes rows of a table of the tenant's own database. */
export function FromTable({ tenantID, text, initial, onText }: Props) {
  const queries = useQueryClient();
  const may = useMay();
  const isAllowed = may('database.metadata');
  const { data: names } = useQuery({ ...tableNamesRead(tenantID), enabled: isAllowed });
  const [table, setTable] = useState<string | null>(null);
  const [action, setAction] = useState<Action>('read');
  const [written, setWritten] = useState(initial);
  const [isAsking, asking] = useDisclosure(false);
  const write = useMutation({
    mutationFn: async () => {
      const [schema = '', name = ''] = JSON.parse(table ?? '[]') as string[];
      const tables = await queries.fetchQuery(tablesRead({ tenantID, databaseSchemaName: schema }));
      const found = tables.find(({ databaseTableName }) => databaseTableName === name);
      if (!found) throw new Error('The table is no longer there.');
      const sql = writtenSQL(action, found);
      setWritten(sql);
      onText(sql);
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
  // A text that was neither there at first nor written here is a person's own.
  const start = () => (text.trim() === '' || text === written ? write.mutate() : asking.open());
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
        <Button variant="default" disabled={table === null} loading={write.isPending} onClick={start}>
          Write the SQL
        </Button>
      </Group>
      {write.error && <Problem error={write.error} />}
      {isAsking && (
        <Confirm
          title="Replace the text"
          question="The SQL that you have typed is replaced by that of the table."
          verb="Replace"
          keep="Keep mine"
          onConfirm={() => write.mutateAsync()}
          onClose={asking.close}
        />
      )}
    </>
  );
}
