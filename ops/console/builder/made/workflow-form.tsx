import { Skeleton, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '../../client/types.ts';
import { workflowRead } from '../../client/workflows.ts';
import { DialogForm } from '../../ui/form.tsx';
import { Picker } from '../../ui/picker.tsx';
import { Problem } from '../../ui/problem.tsx';
import type { CreatePage } from './create.ts';

type Workflow = Schemas['Workflow'];
type Made = Parameters<CreatePage['mutate']>[0];

interface Props {
  tenantID: string;
  create: CreatePage;
  /** The workflow that is chosen at first. */
  begin?: string | undefined;
  /** The title of the page until a person gives another one. */
  titleFor: (workflow: Workflow) => string;
  made: (workflow: Workflow, title: string) => Made;
  /** The lines that tell what the page will do. */
  children: (workflow: Workflow) => ReactNode;
}

/** Chooses a workflow, and the title of the page that is made for it. */
export function WorkflowForm({ tenantID, create, begin, titleFor, made, children }: Props) {
  const [id, setID] = useState(begin);
  const [title, setTitle] = useState<string>();
  const { data, error, refetch } = useQuery({
    ...workflowRead({ tenantID, workflowID: id ?? '' }),
    enabled: id !== undefined,
  });
  const proposed = data ? titleFor(data) : '';
  const shownTitle = title ?? proposed;
  const save = {
    ...{ error: create.error, isPending: create.isPending },
    mutate() {
      if (data) create.mutate(made(data, shownTitle.trim() || proposed));
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
          {children(data)}
        </>
      )}
    </DialogForm>
  );
}
