import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { JSONView } from '../ui/json.tsx';
import { Problem } from '../ui/problem.tsx';

export interface ChangeProps {
  title: string;
  /** The button that runs it at once; without it, its SQL is shown before. */
  verb?: string;
  tenantID: string;
  /** Answers with the SQL, which it runs unless it is a preview. */
  change: (preview: boolean) => Promise<readonly string[]>;
  onDone: () => void;
  onClose: () => void;
  children?: ReactNode;
}

/** A change of tables, whose SQL can be looked at first; one that loses data shows it before it is run. */
export function Change({ title, verb, tenantID, change, onDone, onClose, children }: ChangeProps) {
  const queries = useQueryClient();
  const preview = useMutation({ mutationFn: () => change(true) });
  const run = useMutation({
    mutationFn: () => change(false),
    onSettled: async (_sql, error) => {
      // Also after a refusal: a part of it may be done.
      await queries.invalidateQueries({ queryKey: ['database', tenantID] });
      if (!error) onDone();
    },
  });
  return (
    <Modal opened onClose={onClose} title={title} size="xl">
      <Stack>
        {preview.data ? (
          <>
            <Text size="sm">This will be run:</Text>
            <JSONView value={preview.data.join(';\n') || 'Nothing changes.'} label="SQL of the change" />
          </>
        ) : (
          children
        )}
        {preview.error && <Problem error={preview.error} />}
        {run.error && <Problem error={run.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={preview.data ? () => preview.reset() : onClose}>
            {preview.data ? 'Back' : 'Close'}
          </Button>
          {!preview.data && (
            <Button
              variant={verb ? 'default' : 'filled'}
              loading={preview.isPending}
              onClick={() => {
                run.reset();
                preview.mutate();
              }}
            >
              Show the SQL
            </Button>
          )}
          {(verb || preview.data) && (
            <Button
              loading={run.isPending}
              onClick={() => {
                if (preview.error) preview.reset();
                run.mutate();
              }}
            >
              {verb ?? 'Run it'}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
