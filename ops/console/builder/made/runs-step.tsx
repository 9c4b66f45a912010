import { Skeleton, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { workflowRead } from '../../client/workflows.ts';
import { DialogForm } from '../../ui/form.tsx';
import { Picker } from '../../ui/picker.tsx';
import { Problem } from '../../ui/problem.tsx';
import { boardOfRuns } from './board-of-runs.ts';
import type { CreatePage } from './create.ts';
import { WhoSees } from './who-sees.tsx';

/** Chooses the workflow whose runs a board shows. */
export function RunsStep({ tenantID, create }: { tenantID: string; create: CreatePage }) {
  const [id, setID] = useState<string>();
  const [title, setTitle] = useState<string>();
  const { data, error, refetch } = useQuery({
    ...workflowRead({ tenantID, workflowID: id ?? '' }),
    enabled: id !== undefined,
  });
  const proposed = data ? `Runs of ${data.title}` : '';
  const shownTitle = title ?? proposed;
  const save = {
    ...{ error: create.error, isPending: create.isPending },
    mutate() {
      if (!data) return;
      const workflow = { id: data.id, title: data.title };
      create.mutate((newID) => boardOfRuns({ workflow, title: shownTitle.trim() || proposed, newID }));
    },
  };
  return (
    <DialogForm verb="Create the page" save={save}>
      <Picker
        types={['workflow']}
        label="Workflow"
        required
        value={id}
        onChange={(next) => {
          setID(next);
          setTitle(undefined);
        }}
      />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {id !== undefined && !data && !error && <Skeleton h={60} />}
      {data && (
        <>
          <TextInput
            label="Title of the page"
            value={shownTitle}
            onChange={({ currentTarget: { value } }) => setTitle(value)}
          />
          <Text size="sm">
            People see the state of each run, who started it, when, and how long it took; no inputs and no results. To
            open a run, to cancel it and to run it again, they need their own right to the workflow.
          </Text>
          <WhoSees what="reads the runs" />
        </>
      )}
    </DialogForm>
  );
}
