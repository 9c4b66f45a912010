import { Button, Checkbox, Group, Paper, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type BundledType, exportBundle } from '../client/bundles.ts';
import { countOf } from '../ui/count.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { saveFile } from '../ui/save-file.ts';
import { typeWords } from './words.ts';

/** Saves assets of the tenant as a file. */
export function Export({ tenantID }: { tenantID: string }) {
  const all = Object.keys(typeWords) as BundledType[];
  const [types, setTypes] = useState<readonly BundledType[]>(all);
  const save = useMutation({
    async mutationFn() {
      const { bundle, unfollowed } = await exportBundle(tenantID, types);
      saveFile('bundle.json', new Blob([JSON.stringify(bundle, null, 2)], { type: 'application/json' }));
      return { items: bundle.items.length, unfollowed };
    },
  });
  return (
    <Paper withBorder p="md" component="section" aria-label="Export">
      <Text component="h2" fw={600} mb="xs">
        Export
      </Text>
      <Stack gap="sm">
        <Text size="sm">What you may read of these types, with all that it needs, as a file. It has no secrets.</Text>
        <Checkbox.Group
          label="Types"
          value={[...types]}
          onChange={(next) => setTypes(all.filter((type) => next.includes(type)))}
        >
          <Group gap="md" mt="xs">
            {all.map((type) => (
              <Checkbox key={type} value={type} label={typeWords[type].many} />
            ))}
          </Group>
        </Checkbox.Group>
        <div>
          <Button disabled={types.length === 0} loading={save.isPending} onClick={() => save.mutate()}>
            Export
          </Button>
        </div>
        {save.error && <Problem error={save.error} />}
        {save.data && (
          <Text size="sm" role="status">
            Saved: {countOf(save.data.items, 'asset')}.
          </Text>
        )}
        {save.data && save.data.unfollowed.length > 0 && (
          <Notice tone="wait">
            {`Check by hand what these templates name, which a bundle cannot follow: ${[...new Set(save.data.unfollowed.map(({ template }) => template))].join(', ')}`}
          </Notice>
        )}
      </Stack>
    </Paper>
  );
}
