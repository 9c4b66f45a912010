import { Text, TextInput } from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { addMember } from '../client/people.ts';
import { faultsOf } from '../ui/faults.ts';
import { FormDialog } from '../ui/form.tsx';
import { RoleChoice } from './role-choice.tsx';

const EMPTY = { userEmail: '', roleIDs: [] as string[] };

interface Props {
  tenantID: string;
  onAdded: (tenantUserID: string) => void;
  onClose: () => void;
}

/** Adds a member by address: a person without an account is invited. Entered values stay when the dialog is closed. */
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
  return (
    <FormDialog title="Add a member" verb="Add" save={add} faults={faults} onClose={onClose}>
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
        value={draft.roleIDs}
        onChange={(roleIDs) => setDraft({ ...draft, roleIDs })}
        fault={faults.get('roleIDs')}
      />
      <Text size="xs" c="dimmed">
        Without a role a person may sign in and do nothing. No mail is sent: tell the person to sign in here with this
        address.
      </Text>
    </FormDialog>
  );
}
