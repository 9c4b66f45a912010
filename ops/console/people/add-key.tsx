import { Button, CopyButton, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { createKey } from '../client/people.ts';
import { faultsOf } from '../ui/faults.ts';
import { DialogForm } from '../ui/form.tsx';
import { Notice } from '../ui/notice.tsx';
import { Permissions } from './permissions.tsx';
import { RoleChoice } from './role-choice.tsx';

const EMPTY = { apiKeyName: '', expiry: '', roleIDs: [] as string[], apiKeyPermissions: [] as string[] };

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
  const [draft, setDraft, forget] = useSessionStorage({ key: `add-key ${tenantID}`, defaultValue: EMPTY });
  const create = useMutation({
    mutationFn: () => {
      const { expiry, ...chosen } = draft;
      const apiKeyExpiry = expiry === '' ? null : new Date(expiry).toISOString();
      return createKey(tenantID, { ...chosen, apiKeyExpiry });
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
      <TextInput
        label="Expires"
        description="Empty: never"
        type="datetime-local"
        value={draft.expiry}
        error={faults.get('apiKeyExpiry')}
        onChange={(event) => setDraft({ ...draft, expiry: event.currentTarget.value })}
      />
      <RoleChoice
        tenantID={tenantID}
        value={draft.roleIDs}
        onChange={(roleIDs) => setDraft({ ...draft, roleIDs })}
        fault={faults.get('roleIDs')}
      />
      <Text size="sm">Permissions of its own, besides those of its roles:</Text>
      <Permissions
        tenantID={tenantID}
        value={draft.apiKeyPermissions}
        onChange={(apiKeyPermissions) => setDraft({ ...draft, apiKeyPermissions })}
        fault={faults.get('apiKeyPermissions')}
      />
    </DialogForm>
  );
}
