import { Button, Paper, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useMemo, useState } from 'react';
import { executeSQL, type StatementResult } from '../client/database.ts';
import { keep } from '../client/keep.ts';
import { OWN } from '../client/own-database.ts';
import { OfferedInCode } from '../code/offered.ts';
import { useTablesOf } from '../query/tables.ts';
import { CodeEditor } from '../ui/code-editor.tsx';
import { countOf } from '../ui/count.ts';
import { Problem } from '../ui/problem.tsx';
import { RowsTable } from '../ui/rows-table.tsx';

/** Runs SQL, and shows what every statement has answered. The text stays when the page is left. */
export function SQLPage({ tenantID }: { tenantID: string }) {
  const key = `gantry.sql.${tenantID}`;
  const queries = useQueryClient();
  const [sql, setSQL] = useState(() => sessionStorage.getItem(key) ?? '');
  const run = useMutation({
    mutationFn: () => executeSQL(tenantID, sql),
    onSettled: () => queries.invalidateQueries({ queryKey: ['database', tenantID] }),
  });
  const change = (next: string) => {
    keep(key, next);
    setSQL(next);
  };
  const offered = useTablesOf({ tenantID, type: OWN });
  const start = (event: FormEvent) => {
    event.preventDefault();
    // The answers of the run before are not shown as those of this one.
    run.reset();
    run.mutate();
  };
  return (
    <Stack>
      <form onSubmit={start}>
        <Stack>
          <OfferedInCode value={offered}>
            <CodeEditor
              label="SQL"
              description="Statements are separated by semicolons, and run in one transaction"
              language="sql"
              minRows={6}
              maxRows={24}
              value={sql}
              onChange={change}
            />
          </OfferedInCode>
          <div>
            <Button type="submit" disabled={sql.trim() === ''} loading={run.isPending}>
              Run the SQL
            </Button>
          </div>
        </Stack>
      </form>
      {run.error && <Problem error={run.error} />}
      {run.data?.map((result, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: results stay in the order of their statements
        <Result key={`${run.submittedAt} ${index}`} result={result} number={index + 1} />
      ))}
    </Stack>
  );
}

function Result({ result, number }: { result: StatementResult; number: number }) {
  const { command, rowCount, truncated, notices, columns, rows } = result;
  const names = useMemo(() => columns.map(({ name }) => name), [columns]);
  return (
    <Paper withBorder p="sm" component="section" aria-label={`Statement ${number}`}>
      <Text size="sm" role="status">
        Statement {number}: {command ?? 'nothing'}
        {rowCount !== null && `, ${countOf(rowCount, 'row')}`}
        {truncated && ', of which the first are shown'}
      </Text>
      {notices.map(({ severity, message }) => (
        <Text key={`${severity} ${message}`} size="sm">
          {severity}: <bdi>{message}</bdi>
        </Text>
      ))}
      {rows.length > 0 && <RowsTable label={`Rows of statement ${number}`} rows={rows} names={names} />}
    </Paper>
  );
}
