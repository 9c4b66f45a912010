import { Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMay } from '../client/may.ts';
import { workflowListRead } from '../client/workflows.ts';
import { RunNow } from '../run/run-now.tsx';

const SHOWN = 8;

/** For those who run workflows and do not build them: what they may run. */
export function ToRun({ tenantID }: { tenantID: string }) {
  const may = useMay();
  const isRunner = may('workflow.execute') && !may('workflow.create');
  const { data } = useQuery({ ...workflowListRead(tenantID, {}), enabled: isRunner });
  const workflows = data?.rows.filter(({ publishedVersionID, isDisabled }) => publishedVersionID && !isDisabled) ?? [];
  if (!isRunner || workflows.length === 0) return null;
  return (
    <Paper withBorder p="md" mb="md" component="section" aria-label="Workflows that you may run">
      <Text component="h2" fw={600} mb="xs">
        Workflows that you may run
      </Text>
      <Stack gap="xs">
        {workflows.slice(0, SHOWN).map((workflow) => (
          <Group key={workflow.id} gap="sm" wrap="nowrap">
            <RunNow tenantID={tenantID} workflow={workflow} />
            <bdi>{workflow.title}</bdi>
          </Group>
        ))}
        {workflows.length > SHOWN && (
          <Link className="link" to="/t/$tenantID/workflows" params={{ tenantID }}>
            All workflows
          </Link>
        )}
      </Stack>
    </Paper>
  );
}
