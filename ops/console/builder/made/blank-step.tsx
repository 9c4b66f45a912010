import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { createAppPage } from '../../client/app-pages.ts';
import { faultsOf } from '../../ui/faults.ts';
import { DialogForm } from '../../ui/form.tsx';
import type { CreatePage } from './create.ts';

export function BlankStep({ tenantID, create }: { tenantID: string; create: CreatePage }) {
  const [title, setTitle] = useState('');
  const faults = faultsOf(create.error);
  const empty = {
    layoutVersion: 2,
    layout: { id: 'root', type: 'column', children: [] },
    ...{ widgets: [], dataSources: [], variables: [] },
  };
  const save = {
    ...{ error: create.error, isPending: create.isPending },
    mutate: () =>
      create.mutate(() =>
        createAppPage(tenantID, { appPageTitle: title.trim(), appPageConfig: empty, isDraft: false }),
      ),
  };
  return (
    <DialogForm verb="Create" save={save} faults={faults}>
      <TextInput
        label="Title"
        required
        data-autofocus
        value={title}
        error={faults.get('appPageTitle')}
        onChange={({ currentTarget: { value } }) => setTitle(value)}
      />
    </DialogForm>
  );
}
