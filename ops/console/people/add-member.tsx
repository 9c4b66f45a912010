import { Text, TextInput } from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { addMember } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
import { faultsOf } from '../ui/faults.ts';
import { FormDialog } from '../ui/form.tsx';
import { RoleChoice } from './role-choice.tsx';
import { rolesFor } from './role-to-run.ts';

const EMPTY = { userEmail: '', roleIDs: [] as string[], toRun: [] as string[], toOpen: [] as string[] };

interface Props {
  tenantID: string;
  onAdded: (member: Schemas['AddTenantUserAnswer']['user']) => void;
  onClose: () => void;
}

/** Adds a member by address: a person without an account is invited. Entered values stay when the dialog is closed. */
export function AddMember({ tenantID, onAdded, onClose }: Props) {
  const [kept, setDraft, forget] = useSessionStorage({ key: `add-member ${tenantID}`, defaultValue: EMPTY });
  // A version of the console before may have kept it, with fewer fields.
  const draft = { ...EMPTY, ...kept };
  const queries = useQueryClient();
  const add = useMutation({
    mutationFn: async () =>
      addMember(tenantID, { userEmail: draft.userEmail.trim(), roleIDs: await rolesFor(queries, tenantID, draft) }),
    onSuccess: async (member) => {
      forget();
      await queries.invalidateQueries({ queryKey: ['members', tenantID] });
      onAdded(member);
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
      <RoleChoice value={draft} onChange={(roles) => setDraft({ ...draft, ...roles })} fault={faults.get('roleIDs')} />
      <Text size="xs" c="dimmed">
        Without a role a person may sign in and do nothing. No mail is sent: tell the person to sign in here with this
        address.
      </Text>
    </FormDialog>
  );
}
