import { Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { queryFormsRead } from '../client/queries-of-tenant.ts';
import { connectedAccountsRead } from '../client/settings.ts';
import { datasourceFormsRead } from '../client/sources.ts';
import { createWorkflow } from '../client/workflows.ts';
import { NewDatasource } from '../pages/new-datasource.tsx';
import { NewQuery } from '../pages/new-query.tsx';
import { AddMember } from '../people/add-member.tsx';
import { RoleForm } from '../people/role-panel.tsx';
import { connectAccount } from '../settings/connect.ts';
import { NoProvider, ProviderField } from '../settings/provider-field.tsx';
import type { CreateProps } from '../ui/create-here.ts';
import { FormDialog } from '../ui/form.tsx';
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

export function RoleDialog({ tenantID, onCreated, onClose }: CreateProps) {
  return (
    <Dialog title="New role" size="xl" error={null} onClose={onClose}>
      <RoleForm tenantID={tenantID} onSaved={onCreated} onClose={onClose} />
    </Dialog>
  );
}

/** A person who has no account yet is invited, and can be chosen only when they have one, or where an address will do. */
export function MemberDialog({ tenantID, takesNames, onCreated, onClose }: CreateProps) {
  const [invited, setInvited] = useState<string>();
  if (invited === undefined)
    return (
      <AddMember
        tenantID={tenantID}
        onAdded={({ userID, email }) => {
          const chosen = userID ?? (takesNames ? email : null);
          if (chosen === null) setInvited(email ?? 'The person');
          else onCreated(chosen);
        }}
        onClose={onClose}
      />
    );
  return (
    <Modal opened onClose={onClose} title="Invited">
      <Stack>
        <Text size="sm" role="status">
          <bdi>{invited}</bdi> has no account yet, and can be chosen here after signing in for the first time.
        </Text>
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** An account at another service, connected in a window of its provider. */
export function AccountDialog({ tenantID, onCreated, onClose }: CreateProps) {
  const queries = useQueryClient();
  const { data, error } = useQuery(connectedAccountsRead(tenantID));
  const [chosen, setChosen] = useState<string>();
  const provider = chosen ?? data?.providers[0];
  const connect = useMutation({
    mutationFn: (wanted: string) => connectAccount(wanted, tenantID),
    async onSuccess(oauthConnectionID) {
      await queries.invalidateQueries({ queryKey: ['settings', tenantID, 'accounts'] });
      onCreated(oauthConnectionID);
    },
  });
  if (!data || provider === undefined)
    return (
      <Modal opened onClose={onClose} title="New account">
        {error ? <Problem error={error} /> : data ? <NoProvider /> : <Skeleton h={60} />}
      </Modal>
    );
  return (
    <FormDialog
      title="New account"
      verb="Connect"
      save={{ error: connect.error, isPending: connect.isPending, mutate: () => connect.mutate(provider) }}
      onClose={onClose}
    >
      <ProviderField providers={data.providers} value={provider} onChange={setChosen} />
    </FormDialog>
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
