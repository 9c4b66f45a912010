import { Button, CloseButton, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { createRole, deleteRole, updateRole } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
import { Confirm } from '../ui/confirm.tsx';
import { faultsOf } from '../ui/faults.ts';
import { Picker } from '../ui/picker.tsx';
import { Problem } from '../ui/problem.tsx';
import { useUnsaved } from '../ui/unsaved.ts';
import { WhoChanged } from '../ui/who-changed.tsx';
import { assetsOf, type Grants, scopeOf, withScope } from './grants.ts';
import { PermissionGrid } from './permission-grid.tsx';
import { RolePreview } from './role-preview.tsx';

type Role = Schemas['Role'];

interface Props {
  tenantID: string;
  /** Absent of a new one. */
  role?: Role;
  onSaved: (roleID: string) => void;
  onClose: () => void;
}

interface Draft extends Grants {
  roleName: string;
  roleDescription: string;
  homePageID: string | null;
}

/** The panel of a role. */
export function RolePanel(props: Props) {
  const { role, onClose } = props;
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap">
        <Text component="h2" fw={600} className="breaks">
          <bdi>{role?.roleName ?? 'New role'}</bdi>
        </Text>
        <CloseButton aria-label="Close the role" onClick={onClose} />
      </Group>
      <RoleForm {...props} />
    </Stack>
  );
}

/** A role with its permissions, to read or to change, and what a member with it sees. */
export function RoleForm({ tenantID, role, onSaved, onClose }: Props) {
  const queries = useQueryClient();
  const may = useMay(role ? `role:${role.roleID}` : 'role:*');
  const isReadOnly = role?.isGlobal === true || !may(role ? 'role.update' : 'role.create');
  const [saved, setSaved] = useState<Draft>(() => draftOf(role));
  const [draft, setDraft] = useState(saved);
  const [isDeleting, setDeleting] = useState(false);
  const isDirty = draft !== saved;
  const refresh = () => queries.invalidateQueries({ queryKey: ['roles', tenantID] });
  const save = useMutation({
    mutationFn: async (sent: Draft) => {
      const { rolePermissions, assetPermissions } = sent;
      const body = { ...sent, rolePermissions: [...rolePermissions], assetPermissions: [...assetPermissions] };
      if (!role) return createRole(tenantID, body);
      await updateRole({ tenantID, roleID: role.roleID }, body);
      return role.roleID;
    },
    onSuccess: async (roleID, sent) => {
      setSaved(sent);
      await refresh();
      onSaved(roleID);
    },
  });
  useUnsaved(isDirty && !save.isSuccess);
  const faults = faultsOf(save.error);
  const set = (change: Partial<Draft>) => {
    save.reset();
    setDraft((before) => ({ ...before, ...change }));
  };
  return (
    <Stack gap="sm">
      {role?.isGlobal && <Text size="sm">Of the whole deployment: operators change it.</Text>}
      {role && <WhoChanged tenantID={tenantID} assetID={role.roleID} />}
      <TextInput
        label="Name"
        required
        disabled={isReadOnly}
        value={draft.roleName}
        error={faults.get('roleName')}
        onChange={(event) => set({ roleName: event.currentTarget.value })}
      />
      <Textarea
        label="Description"
        autosize
        disabled={isReadOnly}
        value={draft.roleDescription}
        error={faults.get('roleDescription')}
        onChange={(event) => set({ roleDescription: event.currentTarget.value })}
      />
      <HomePage
        role={role}
        disabled={isReadOnly}
        value={draft.homePageID}
        error={faults.get('homePageID')}
        onChange={(homePageID) => set({ homePageID, ...opening(draft, homePageID) })}
      />
      {!isReadOnly && (
        <Text size="xs" c="dimmed">
          A permission brings what it needs: who may run a workflow also finds and sees it.
        </Text>
      )}
      <Stack gap="sm">
        <PermissionGrid
          tenantID={tenantID}
          value={draft}
          onChange={(change) => {
            save.reset();
            // A change may follow another before the form is drawn again, so it begins with what that has made.
            setDraft((before) => ({ ...before, ...change(before) }));
          }}
          hasSingle={role?.isGlobal !== true}
          isReadOnly={isReadOnly}
          fault={faults.get('rolePermissions') ?? faults.get('assetPermissions')}
        />
        {save.error && faults.size === 0 && <Problem error={save.error} />}
        {/* It stays in view while the permissions above it are gone through, before their switches. */}
        <Group gap="xs" py="xs" pos="sticky" bottom={0} bg="var(--mantine-color-body)" style={{ zIndex: 3 }}>
          {!isReadOnly && (
            <Button size="xs" disabled={!isDirty} loading={save.isPending} onClick={() => save.mutate(draft)}>
              {role ? 'Save the role' : 'Create the role'}
            </Button>
          )}
          {role && !role.isGlobal && may('role.delete') && (
            <Button size="xs" variant="default" onClick={() => setDeleting(true)}>
              Delete
            </Button>
          )}
        </Group>
      </Stack>
      <RolePreview
        tenantID={tenantID}
        role={{ ...draft, roleID: role?.roleID, roleName: draft.roleName || 'this role' }}
      />
      {role && isDeleting && (
        <Confirm
          title="Delete the role"
          question={`Members and keys with “${role.roleName}” lose its permissions.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteRole({ tenantID, roleID: role.roleID });
            onClose();
            await refresh();
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </Stack>
  );
}

/** The grants of a role that opens its home page. */
function opening(grants: Grants, homePageID: string | null): Grants {
  if (homePageID === null || scopeOf(grants, 'appPage.read') === 'all') return grants;
  const ids = [...new Set([...assetsOf(grants, 'appPage.read'), homePageID])];
  return withScope(grants, 'appPage.read', 'these', ids);
}

interface HomePageProps {
  role: Role | undefined;
  disabled: boolean;
  value: string | null;
  error: string | undefined;
  onChange: (id: string | null) => void;
}

/** A page belongs to one tenant, so a role of the deployment has none. */
function HomePage({ role, value, onChange, ...field }: HomePageProps) {
  if (role?.isGlobal) return null;
  return (
    <Picker
      {...field}
      types={['appPage']}
      label="Home page"
      description="Members with this role see it in place of Home. Choosing one lets them open it. Empty: Home"
      value={value ?? undefined}
      onChange={(id) => onChange(id ?? null)}
    />
  );
}

function draftOf(role: Role | undefined): Draft {
  return {
    roleName: role?.roleName ?? '',
    roleDescription: role?.roleDescription ?? '',
    homePageID: role?.homePageID ?? null,
    rolePermissions: role?.rolePermissions ?? [],
    assetPermissions: role?.assetPermissions ?? [],
  };
}
