import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { addMember } from '../client/people.ts';
import { faultsOf } from '../ui/faults.ts';
import { Problem } from '../ui/problem.tsx';
import { RoleChoice } from './role-choice.tsx';

const EMPTY = { userEmail: '', roleIDs: [] as string[] };

interface Props {
  tenantID: string;
  onAdded: (tenantUserID: string) => void;
  onClose: () => void;
}

/** By address: a person without an account is invited. What is typed and chosen stays when the dialog is closed. */
export function AddMember({ tenantID, onAdded, onClose }: Props) {
  const [draft, setDraft, forget] = useSessionStorage({ key: `add-member ${tenantID}`, defaultValue: EMPTY });
  const add = useMutation({
    mutationFn: () => addMember(tenantID, { ...draft, userEmail: draft.userEmail.trim() }),
    onSuccess: (tenantUserID) => {
      forget();
      onAdded(tenantUserID);
    },
  });
  const faults = faultsOf(add.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <Modal opened onClose={onClose} title="Add a member" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <TextInput
            label="E-mail address"
            type="email"
            required
            data-autofocus
            value={draft.userEmail}
            error={faults.get('userEmail')}
            onChange={(event) => setDraft({ ...draft, userEmail: event.currentTarget.value })}
          />
          <RoleChoice
            tenantID={tenantID}
            value={draft.roleIDs}
            onChange={(roleIDs) => setDraft({ ...draft, roleIDs })}
            fault={faults.get('roleIDs')}
          />
          {add.error && faults.size === 0 && <Problem error={add.error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={add.isPending}>
              Add
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
