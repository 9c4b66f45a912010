import { Button, CopyButton, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { createKey } from '../client/people.ts';
import { faultsOf } from '../ui/faults.ts';
import { DialogForm } from '../ui/form.tsx';
import { Notice } from '../ui/notice.tsx';
import { ExpiryChoice } from './expiry-choice.tsx';
import { type Expiry, expiresAt, USUAL } from './key-expiry.ts';
import { PermissionGrid } from './permission-grid.tsx';
import { RoleChoice } from './role-choice.tsx';
import { rolesFor } from './role-to-run.ts';

const EMPTY = {
  apiKeyName: '',
  expiry: { lifetime: USUAL, date: '' } as Expiry,
  roleIDs: [] as string[],
  toRun: [] as string[],
  toOpen: [] as string[],
  apiKeyPermissions: [] as string[],
};

interface Props {
  tenantID: string;
  onCreated: () => void;
  onClose: () => void;
}

/** A form for a new key. Entered values stay when the dialog is closed; the key itself is shown once, until then. */
export function AddKey({ tenantID, onCreated, onClose }: Props) {
  const [key, setKey] = useState<string>();
  return (
    <Modal opened onClose={onClose} title="New API key">
      {key === undefined ? (
        <Form
          tenantID={tenantID}
          onCreated={(created) => {
            setKey(created);
            onCreated();
          }}
        />
      ) : (
        <Shown value={key} onClose={onClose} />
      )}
    </Modal>
  );
}

function Shown({ value, onClose }: { value: string; onClose: () => void }) {
  return (
    <Stack>
      <Notice tone="wait" role="status" title="Copy it now">
        The key is not shown again.
      </Notice>
      <code className="breaks">{value}</code>
      <Group justify="flex-end">
        <CopyButton value={value}>
          {({ copied, copy }) => (
            <Button variant="default" onClick={copy}>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  );
}

function Form({ tenantID, onCreated }: { tenantID: string; onCreated: (key: string) => void }) {
  const [kept, setDraft, forget] = useSessionStorage({ key: `add-key ${tenantID}`, defaultValue: EMPTY });
  // A version of the console before may have kept it, with fewer fields.
  const draft = { ...EMPTY, ...kept };
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: async () => {
      const { expiry, toRun: _, toOpen: __, ...chosen } = draft;
      const at = expiresAt(expiry, Date.now());
      if (at === undefined) throw new Error('Choose a last day that is not over');
      const roleIDs = await rolesFor(queries, tenantID, draft);
      return createKey(tenantID, { ...chosen, roleIDs, apiKeyExpiry: at === null ? null : at.toISOString() });
    },
    onSuccess: (key) => {
      forget();
      onCreated(key);
    },
  });
  const faults = faultsOf(create.error);
  return (
    <DialogForm verb="Create" save={create} faults={faults}>
      <TextInput
        label="Name"
        required
        data-autofocus
        value={draft.apiKeyName}
        error={faults.get('apiKeyName')}
        onChange={(event) => setDraft({ ...draft, apiKeyName: event.currentTarget.value })}
      />
      <ExpiryChoice
        value={draft.expiry}
        fault={faults.get('apiKeyExpiry')}
        onChange={(expiry) => setDraft({ ...draft, expiry })}
      />
      <RoleChoice value={draft} onChange={(roles) => setDraft({ ...draft, ...roles })} fault={faults.get('roleIDs')} />
      <Text size="sm">Permissions of its own, besides those of its roles:</Text>
      <PermissionGrid
        tenantID={tenantID}
        value={{ rolePermissions: draft.apiKeyPermissions, assetPermissions: [] }}
        onChange={(change) =>
          setDraft((before) => {
            const given = { rolePermissions: before.apiKeyPermissions, assetPermissions: [] };
            return { ...before, apiKeyPermissions: [...change(given).rolePermissions] };
          })
        }
        hasSingle={false}
        fault={faults.get('apiKeyPermissions')}
      />
    </DialogForm>
  );
}
