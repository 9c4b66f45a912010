import { Button, Checkbox, CloseButton, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { type MemberIDs, memberRead, removeMember, setMemberRoles } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
import { Confirm } from '../ui/confirm.tsx';
import { faultsOf } from '../ui/faults.ts';
import { Problem } from '../ui/problem.tsx';
import { useUnsaved } from '../ui/unsaved.ts';
import { WhoChanged } from '../ui/who-changed.tsx';
import { MayDo } from './may-do.tsx';
import { type ChosenRoles, RoleChoice } from './role-choice.tsx';
import { rolesFor } from './role-to-run.ts';

/** One member: what they may do, their roles, and the way out. */
export function MemberPanel({ ids, onClose }: { ids: MemberIDs; onClose: () => void }) {
  const { data: member, error, refetch } = useQuery(memberRead(ids));
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap">
        <Text component="h2" fw={600} className="breaks">
          <bdi>{member?.email ?? 'Member'}</bdi>
        </Text>
        <CloseButton aria-label="Close the member" onClick={onClose} />
      </Group>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!member && !error && <Skeleton h={160} />}
      {member && (
        <>
          <WhoChanged tenantID={ids.tenantID} assetID={member.tenantUserID} />
          <Membership key={member.updatedAt} ids={ids} member={member} onRemoved={onClose} />
          <MayDo member={{ ...member, tenantID: ids.tenantID }} />
        </>
      )}
    </Stack>
  );
}

interface MembershipProps {
  ids: MemberIDs;
  member: Schemas['TenantUser'];
  onRemoved: () => void;
}

function Membership({ ids, member, onRemoved }: MembershipProps) {
  const queries = useQueryClient();
  const may = useMay(`user:${ids.tenantUserID}`);
  const saved = member.roles.map(({ roleID }) => roleID);
  const [roles, setRoles] = useState<ChosenRoles>({ roleIDs: saved, toRun: [], toOpen: [] });
  const [isAdmin, setAdmin] = useState(member.isTenantAdmin);
  const [isRemoving, setRemoving] = useState(false);
  const isMore = roles.toRun.length > 0 || roles.toOpen.length > 0;
  const isDirty = isAdmin !== member.isTenantAdmin || roles.roleIDs.join() !== saved.join() || isMore;
  useUnsaved(isDirty);
  const refresh = () => queries.invalidateQueries({ queryKey: ['members', ids.tenantID] });
  const save = useMutation({
    mutationFn: async () => {
      const roleIDs = await rolesFor(queries, ids.tenantID, roles);
      await setMemberRoles(ids, { roleIDs, userTenantRelationship: isAdmin ? 'ADMIN' : 'MEMBER' });
      return roleIDs;
    },
    onSuccess: (roleIDs) => {
      setRoles({ roleIDs, toRun: [], toOpen: [] });
      return refresh();
    },
  });
  const faults = faultsOf(save.error);
  const mayChange = may('user.update');
  return (
    <>
      <RoleChoice value={roles} onChange={setRoles} fault={faults.get('roleIDs')} isReadOnly={!mayChange} />
      <Checkbox
        label="Administrator of the tenant"
        checked={isAdmin}
        disabled={!mayChange || member.isPending}
        error={faults.get('userTenantRelationship')}
        onChange={(event) => setAdmin(event.currentTarget.checked)}
      />
      {save.error && <Problem error={save.error} />}
      <Group gap="xs">
        {mayChange && (
          <Button size="xs" disabled={!isDirty} loading={save.isPending} onClick={() => save.mutate()}>
            Save the roles
          </Button>
        )}
        {may('user.delete') && (
          <Button size="xs" variant="default" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )}
      </Group>
      {isRemoving && (
        <Confirm
          title="Remove the member"
          question={`${member.email ?? 'The member'} may do nothing in this tenant any more.`}
          verb="Remove"
          onConfirm={async () => {
            await removeMember(ids);
            onRemoved();
            // Only the lists are read again: the member is no longer there.
            await queries.invalidateQueries({ queryKey: ['members', ids.tenantID, 'list'] });
          }}
          onClose={() => setRemoving(false)}
        />
      )}
    </>
  );
}
