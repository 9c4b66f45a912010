import { Checkbox, Select, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { tableNamesRead, tablesRead } from '../../client/database.ts';
import { errorInPlaceOf } from '../../client/error-in-place.ts';
import { DialogForm } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
import type { CreatePage } from './create.ts';
import { type Doing, pageOfTable, possibleWith, withoutField } from './page-of-table.ts';
import { labelOf } from './plan.ts';
import { WhoSees } from './who-sees.tsx';

interface Props {
  tenantID: string;
  create: CreatePage;
  begin?: { schema?: string; table?: string } | undefined;
}

const words: Record<keyof Doing, string> = { add: 'Add rows', change: 'Change rows', remove: 'Delete rows' };

/** Chooses a table, and what people may do with its rows. */
export function TableStep({ tenantID, create, begin }: Props) {
  const names = useQuery(tableNamesRead(tenantID));
  const [chosen, setChosen] = useState(
    begin?.schema && begin.table ? JSON.stringify([begin.schema, begin.table]) : null,
  );
  const [schema = '', name = ''] = JSON.parse(chosen ?? '[]') as string[];
  const tables = useQuery({ ...tablesRead({ tenantID, databaseSchemaName: schema }), enabled: chosen !== null });
  const table = tables.data?.find((one) => one.databaseTableName === name);
  const [title, setTitle] = useState<string>();
  const [refused, setRefused] = useState<ReadonlySet<keyof Doing>>(new Set());
  const error = errorInPlaceOf(names, tables);
  if (error) return <Problem error={error} onRetry={() => void names.refetch()} />;
  if (!names.data) return <Skeleton h={120} />;
  const choices = Object.entries(names.data).flatMap(([own, all]) =>
    Object.keys(all).map((one) => ({
      value: JSON.stringify([own, one]),
      label: own === 'public' ? one : `${own}.${one}`,
    })),
  );
  const possible = table && possibleWith(table);
  const shownTitle = title ?? labelOf(name);
  const unfilled = table ? withoutField(table) : [];
  const save = {
    ...{ error: create.error, isPending: create.isPending },
    mutate() {
      if (!table) return;
      const allowed = (one: keyof Doing) => !refused.has(one);
      const doing = { add: allowed('add'), change: allowed('change'), remove: allowed('remove') };
      create.mutate((newID) => pageOfTable({ table, title: shownTitle.trim() || labelOf(name), doing, newID }));
    },
  };
  return (
    <DialogForm verb="Create the page" save={save}>
      <Select
        label="Table"
        description="Of the tenant's own database"
        placeholder={choices.length === 0 ? 'There is no table yet' : 'Choose a table'}
        searchable
        required
        data={choices}
        value={chosen}
        onChange={setChosen}
      />
      {chosen !== null && !table && !tables.isPending && <Text size="sm">This table is not there any more.</Text>}
      {possible && (
        <>
          <TextInput
            label="Title of the page"
            value={shownTitle}
            onChange={({ currentTarget: { value } }) => setTitle(value)}
          />
          <Checkbox.Group
            label="What people may do on the page"
            description="Everyone who may open the page sees the rows"
            value={(Object.keys(words) as (keyof Doing)[]).filter((one) => possible[one] && !refused.has(one))}
            onChange={(allowed) =>
              setRefused(new Set((Object.keys(words) as (keyof Doing)[]).filter((one) => !allowed.includes(one))))
            }
          >
            <Stack gap={6} mt={6}>
              {(Object.keys(words) as (keyof Doing)[]).map((one) => (
                <Checkbox key={one} value={one} label={words[one]} disabled={!possible[one]} />
              ))}
            </Stack>
          </Checkbox.Group>
          {!possible.remove && (
            <Text size="sm">
              {possible.add
                ? 'This table has no primary key: its rows cannot be told apart, so they are not changed or deleted.'
                : 'This is a view: its rows are shown only.'}
            </Text>
          )}
          {possible.add && unfilled.length > 0 && (
            <Text size="sm">Shown, and not in the forms: {unfilled.join(', ')}.</Text>
          )}
          <WhoSees what="reads and changes the table" />
        </>
      )}
    </DialogForm>
  );
}
