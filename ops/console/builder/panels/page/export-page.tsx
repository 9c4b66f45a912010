import { Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { exportPage } from '../../../client/bundles.ts';
import { useMay } from '../../../client/may.ts';
import { countOf } from '../../../ui/count.ts';
import { Notice } from '../../../ui/notice.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { saveFile } from '../../../ui/save-file.ts';

/** Saves the page as a bundle, with its widgets, queries, workflows and what these need. */
export function ExportPage({ tenantID, id, title }: { tenantID: string; id: string; title: string }) {
  const may = useMay(`appPage:${id}`);
  const save = useMutation({
    async mutationFn() {
      const { bundle, unfollowed } = await exportPage({ tenantID, appPageID: id });
      const name = title.replaceAll(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60);
      saveFile(`${name || 'page'}.json`, new Blob([JSON.stringify(bundle, null, 2)], { type: 'application/json' }));
      return { items: bundle.items.length, unfollowed };
    },
  });
  if (!may('appPage.export')) return null;
  return (
    <Stack gap="xs" component="section" aria-label="Take it along">
      <Text component="h3" size="sm" fw={600}>
        Take it along
      </Text>
      <Text size="xs">
        The page as it is saved, with its widgets, queries and workflows, as a file without secrets. “Settings”,
        “Bundles” of another tenant takes it in.
      </Text>
      <div>
        <Button size="compact-sm" variant="default" loading={save.isPending} onClick={() => save.mutate()}>
          Save as a file
        </Button>
      </div>
      {save.error && <Problem error={save.error} />}
      {save.data && (
        <Text size="xs" role="status">
          Saved: {countOf(save.data.items, 'part')}.
        </Text>
      )}
      {save.data && save.data.unfollowed.length > 0 && (
        <Notice tone="wait">
          {`Check by hand what these templates name, which a bundle cannot follow: ${[...new Set(save.data.unfollowed.map(({ template }) => template))].join(', ')}`}
        </Notice>
      )}
    </Stack>
  );
}
