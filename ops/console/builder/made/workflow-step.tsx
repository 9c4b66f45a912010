import { Skeleton, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { workflowRead } from '../../client/workflows.ts';
import { DialogForm } from '../../ui/form.tsx';
import { isObject } from '../../ui/is-object.ts';
import { Notice } from '../../ui/notice.tsx';
import { Picker } from '../../ui/picker.tsx';
import { Problem } from '../../ui/problem.tsx';
import type { CreatePage } from './create.ts';
import { formOfWorkflow } from './form-of-workflow.ts';
import { inputsOf } from './inputs.ts';
import { WhoSees } from './who-sees.tsx';

interface Props {
  tenantID: string;
  create: CreatePage;
  begin?: { id?: string } | undefined;
}

/** Chooses the workflow that a form starts. */
export function WorkflowStep({ tenantID, create, begin }: Props) {
  const [id, setID] = useState(begin?.id);
  const { data, error, refetch } = useQuery({
    ...workflowRead({ tenantID, workflowID: id ?? '' }),
    enabled: id !== undefined,
  });
  const [title, setTitle] = useState<string>();
  const shownTitle = title ?? data?.title ?? '';
  const definitions = isObject(data?.workflowOptions) ? data.workflowOptions.inputDefinitions : undefined;
  const inputs = inputsOf(definitions);
  const save = {
    ...{ error: create.error, isPending: create.isPending },
    mutate() {
      if (!data) return;
      const workflow = {
        ...{ id: data.id, title: data.title, description: data.workflowDescription ?? '' },
        inputDefinitions: definitions,
      };
      create.mutate((newID) => formOfWorkflow({ workflow, title: shownTitle.trim() || data.title, newID }));
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
      {id !== undefined && !data && !error && <Skeleton h={120} />}
      {data && (
        <>
          <TextInput
            label="Title of the page"
            value={shownTitle}
            onChange={({ currentTarget: { value } }) => setTitle(value)}
          />
          <Text size="sm">
            {inputs.length === 0
              ? 'This workflow declares no inputs: the page has a button that starts it.'
              : `The form asks for: ${inputs.map(({ label }) => label).join(', ')}.`}
          </Text>
          {!data.publishedVersionID && (
            <Notice tone="wait">This workflow is not published yet. The page can start it once it is.</Notice>
          )}
          <WhoSees what="starts the workflow" />
        </>
      )}
    </DialogForm>
  );
}
