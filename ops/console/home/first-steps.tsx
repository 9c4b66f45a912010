import { Button, Group, Paper, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { useMay } from '../client/may.ts';

const Gallery = lazy(() => import('../templates/gallery.tsx').then(({ Gallery: one }) => ({ default: one })));

/** Three that show different things, and need nothing. */
const offered = ['order-approval', 'nightly-import', 'webhook-enrichment'];

/** For a tenant without a workflow: templates to start from. */
export function FirstSteps({ tenantID }: { tenantID: string }) {
  const may = useMay();
  if (!may('workflow.create')) return null;
  return (
    <Paper withBorder p="md" mb="md" component="section" aria-label="No workflow yet">
      <Group justify="space-between" mb="sm">
        <div>
          <Text fw={600} component="h2">
            No workflow yet
          </Text>
          <Text size="sm">Start from a process that works, and make it yours.</Text>
        </div>
        <Group gap="xs">
          <Button
            variant="default"
            renderRoot={(props) => <Link {...props} to="/t/$tenantID/workflows" params={{ tenantID }} search={{}} />}
          >
            Begin with an empty one
          </Button>
          <Button renderRoot={(props) => <Link {...props} to="/t/$tenantID/templates" params={{ tenantID }} />}>
            All templates
          </Button>
        </Group>
      </Group>
      <Suspense>
        <Gallery tenantID={tenantID} level="h3" only={offered} />
      </Suspense>
    </Paper>
  );
}
