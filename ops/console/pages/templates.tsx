import { Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { Gallery } from '../templates/gallery.tsx';
import { PageTitle } from '../ui/page.tsx';

/** Workflows to start from, each with its picture. */
export function TemplatesPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/templates' });
  return (
    <>
      <PageTitle title="Templates" />
      <Text size="sm" mb="md" maw={640}>
        Start from a process that works, and change it in the editor. Each brings its queries, its tables and an input
        to try it with.
      </Text>
      <Gallery tenantID={tenantID} level="h2" />
    </>
  );
}
