import { Modal, Skeleton } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { queryFormsRead } from '../client/queries-of-tenant.ts';
import { datasourceFormsRead } from '../client/sources.ts';
import { createWorkflow } from '../client/workflows.ts';
import { NewDatasource } from '../pages/new-datasource.tsx';
import { NewQuery } from '../pages/new-query.tsx';
import type { CreateProps } from '../ui/create-here.ts';
import { NameDialog } from '../ui/name-dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { TellUnsaved } from '../ui/unsaved.ts';
import { ValuesInField, ValuesOfStep } from '../values/context.ts';

/** A draft with a title, whose steps are added on its page. */
export function WorkflowDialog({ tenantID, onCreated, onClose }: CreateProps) {
  const queries = useQueryClient();
  return (
    <NameDialog
      title="New workflow"
      onName={async (title) => {
        const { id } = await createWorkflow(tenantID, title);
        await queries.invalidateQueries({ queryKey: ['workflows', tenantID] });
        onCreated(id);
      }}
      onClose={onClose}
    />
  );
}

export function QueryDialog({ tenantID, onCreated, onClose }: CreateProps) {
  const { data: forms, error } = useQuery(queryFormsRead(tenantID));
  return (
    <Dialog title="New query" size="80rem" error={error} onClose={onClose}>
      {forms && <NewQuery tenantID={tenantID} forms={forms} onCreated={onCreated} />}
    </Dialog>
  );
}

export function DatasourceDialog({ tenantID, accepts, onCreated, onClose }: CreateProps) {
  const { data: forms, error } = useQuery(datasourceFormsRead(tenantID));
  const fits = (type: string) => accepts?.({ id: '', title: '', detail: type }) ?? true;
  const offered = forms && Object.fromEntries(Object.entries(forms).filter(([type]) => fits(type)));
  return (
    <Dialog title="New datasource" error={error} onClose={onClose}>
      {offered && <NewDatasource tenantID={tenantID} forms={offered} onCreated={onCreated} />}
    </Dialog>
  );
}

interface DialogProps {
  title: string;
  size?: string;
  error: Error | null;
  onClose: () => void;
  children: ReactNode;
}

function Dialog({ title, size = 'lg', error, onClose, children }: DialogProps) {
  const [isDirty, setDirty] = useState(false);
  const close = () => {
    if (!isDirty || window.confirm('Close without saving the changes?')) onClose();
  };
  return (
    // A click beside the dialog must not lose typed text.
    <Modal opened onClose={close} closeOnClickOutside={false} title={title} size={size}>
      {error && <Problem error={error} />}
      {!children && !error && <Skeleton h={240} />}
      {/* Templates of what is made here name inputs of its own, and nothing of the step from which it is made. */}
      <ValuesOfStep value={undefined}>
        <ValuesInField value={undefined}>
          <TellUnsaved value={setDirty}>{children}</TellUnsaved>
        </ValuesInField>
      </ValuesOfStep>
    </Modal>
  );
}
