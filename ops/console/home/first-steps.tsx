import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Permission, useMay } from '../client/may.ts';
import { isNewRead } from '../client/overview.ts';
import { installSample } from '../client/samples.ts';
import { Problem } from '../ui/problem.tsx';

const samples = [
  { name: 'order-approval', title: 'Order approval', shows: 'an approval and a form, with reminders' },
  {
    name: 'nightly-import',
    title: 'Nightly import',
    shows: 'a cron job for every night, a CSV file, and many items at once',
  },
  { name: 'webhook-enrichment', title: 'Webhook', shows: 'a listener, and a call to a service with retries' },
] as const;

/** All that one of the samples has. */
const needs: readonly Permission[] = [
  ...(['bundle.execute', 'database.execute', 'variable.create', 'workflow.create', 'dataquery.create'] as const),
  ...(['datasource.create', 'cronjob.create', 'listener.create'] as const),
];

/** For a tenant without a workflow: samples to start from. */
export function FirstSteps({ tenantID }: { tenantID: string }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const may = useMay();
  const install = useMutation({
    mutationFn: (name: string) => installSample(tenantID, name),
    onSuccess: async (workflowID) => {
      queries.setQueryData(isNewRead(tenantID).queryKey, false);
      await navigate({ to: '/t/$tenantID/workflows/$workflowID', params: { tenantID, workflowID } });
      await queries.invalidateQueries();
    },
  });
  if (!needs.every(may)) return null;
  return (
    <Paper withBorder p="md" mb="md" component="section" aria-label="No workflow yet">
      <Text fw={600} component="h2">
        No workflow yet
      </Text>
      <Text size="sm" mb="sm">
        A sample shows what Gantry does. What it is made of is added to this tenant, and its tables to the database of
        the tenant.
      </Text>
      <Stack gap="xs">
        {samples.map(({ name, title, shows }) => (
          <Group key={name} gap="sm">
            <Button
              size="xs"
              variant="default"
              loading={install.isPending && install.variables === name}
              disabled={install.isPending && install.variables !== name}
              onClick={() => install.mutate(name)}
            >
              Install “{title}”
            </Button>
            <span className="note">{shows}</span>
          </Group>
        ))}
      </Stack>
      {install.error && <Problem error={install.error} />}
    </Paper>
  );
}
