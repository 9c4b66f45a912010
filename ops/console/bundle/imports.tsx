import { Button, Paper, Skeleton, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { importsRead, rollBackImport } from '../client/bundles.ts';
import { useMay } from '../client/may.ts';
import { useMemberNames } from '../client/members.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Problem } from '../ui/problem.tsx';
import { Scroller, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

/** The last imports, each of which can be rolled back once. */
export function Imports({ tenantID }: { tenantID: string }) {
  const { data, error, refetch } = useQuery(importsRead(tenantID));
  const queries = useQueryClient();
  const nameOf = useMemberNames(tenantID);
  const mayRollBack = useMay()('bundle.execute');
  const [doomed, setDoomed] = useState<string>();
  return (
    <Paper withBorder p="md" component="section" aria-label="Last imports">
      <Text component="h2" fw={600} mb="xs">
        Last imports
      </Text>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={80} />}
      {data?.length === 0 && <Text size="sm">None yet.</Text>}
      {data && data.length > 0 && (
        <Scroller label="Last imports">
          <Table
            caption="Last imports"
            columns={[
              { head: 'When', cell: ({ createdAt }) => <Ago at={createdAt} /> },
              { head: 'Who', cell: ({ creatorID }) => <bdi>{nameOf(creatorID)}</bdi> },
              { head: 'New', cell: ({ createdCount }) => createdCount },
              { head: 'Changed', cell: ({ updatedCount }) => updatedCount },
              {
                head: 'Actions',
                isPinned: true,
                cell: ({ importID, rolledBackAt }) =>
                  rolledBackAt ? (
                    <>
                      Rolled back <Ago at={rolledBackAt} />
                    </>
                  ) : (
                    mayRollBack && (
                      <Button size="compact-xs" variant="default" onClick={() => setDoomed(importID)}>
                        Roll back
                      </Button>
                    )
                  ),
              },
            ]}
            rows={data}
            idOf={({ importID }) => importID}
          />
        </Scroller>
      )}
      {doomed && (
        <Confirm
          title="Roll back the import"
          question="What it has created is deleted, and what it has changed is as it was before. It is refused if any of it was changed since."
          verb="Roll back"
          onConfirm={async () => {
            await rollBackImport({ tenantID, importID: doomed });
            await queries.invalidateQueries();
          }}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </Paper>
  );
}
